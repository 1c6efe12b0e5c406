import type { RuleDecision } from '../permissions/rule.ts';
import type { ErrorInfo } from './agent-error.ts';
import type { AgentEvent } from './agent-event.ts';
import type { AgentState } from './agent-state.ts';
import type { Json } from './json.ts';
import type { TokenUsage } from './token-usage.ts';
import type { ToolResult } from './tool-result.ts';

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
