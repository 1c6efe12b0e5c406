import type { Json } from './json.ts';
import type { ContentBlock } from './message.ts';
import type { ToolResult } from './tool-result.ts';

/** How long an answer to a permission request is remembered: this session, this kind of agent, or the rules file. */
export type Remember = 'session' | 'agent' | 'always';

/** A human's answer, bound to one request and, by `inputHash`, to the input that was shown. */
export interface PermissionAnswer {
  readonly requestId: string;
  readonly inputHash?: string;
  readonly decision: 'allow' | 'deny';
  /** Runs this input instead, after the same checks as the first one. */
  readonly editedInput?: Json;
  readonly remember?: Remember;
  readonly message?: string;
}

export type InputMessage =
  | { readonly type: 'user-input'; readonly content: readonly ContentBlock[]; readonly steer: boolean }
  | { readonly type: 'tool-result'; readonly toolUseId: string; readonly result: ToolResult }
  | ({ readonly type: 'permission-response' } & PermissionAnswer)
  | { readonly type: 'interrupt' }
  | { readonly type: 'shutdown' };
