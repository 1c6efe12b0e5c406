import type { RuleDecision } from '../permissions/rule.ts';
import type { ErrorInfo } from './agent-error.ts';
import type { AgentEvent } from './agent-event.ts';
import type { AgentState } from './agent-state.ts';
import type { Json } from './json.ts';
import type { ContentBlock, ToolResult } from './message.ts';
import type { TokenUsage } from './token-usage.ts';

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

/** Asks a human about one tool call. */
export interface PermissionRequest {
  readonly type: 'permission-request';
  readonly requestId: string;
  readonly toolUseId: string;
  readonly toolName: string;
  readonly action: string;
  readonly details?: string;
  readonly input: Json;
  readonly inputHash: string;
  readonly allowed: readonly ('approve' | 'edit' | 'reject')[];
}

export interface PermissionResponse {
  readonly type: 'permission-response';
  readonly requestId?: string;
  readonly toolUseId: string;
  readonly toolName: string;
  readonly decision: RuleDecision;
  readonly by: 'rule' | 'human' | 'default' | 'timeout';
  readonly ruleId?: string;
}

/** Output of an agent for its listeners. */
export type OutputChunk =
  | {
      readonly type: 'text-delta' | 'text-complete' | 'thinking-delta' | 'thinking-complete';
      readonly text: string;
    }
  | { readonly type: 'tool-start'; readonly toolUseId: string; readonly name: string; readonly input: Json }
  | { readonly type: 'tool-progress'; readonly toolUseId: string; readonly output: string }
  | {
      readonly type: 'tool-end';
      readonly toolUseId: string;
      readonly name: string;
      readonly result: ToolResult;
      readonly isError: boolean;
    }
  | PermissionRequest
  | PermissionResponse
  | {
      readonly type: 'subagent-spawned';
      readonly childSessionId: string;
      readonly agentType: string;
      readonly toolUseId?: string;
    }
  | { readonly type: 'subagent-output'; readonly childSessionId: string; readonly chunk: AgentEvent }
  | {
      readonly type: 'subagent-complete';
      readonly childSessionId: string;
      readonly result?: Json;
      readonly usage: TokenUsage;
      readonly success: boolean;
    }
  | { readonly type: 'state-change'; readonly state: AgentState }
  | { readonly type: 'error'; readonly error: ErrorInfo }
  | { readonly type: 'done'; readonly result?: Json };
