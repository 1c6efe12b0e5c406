import type { Actor, Subject } from './contract.ts';

export type { Actor, Subject };

/** The agent this process is. Its id is stable per tenant and slug. */
export interface AgentIdentity {
  readonly slug: string;
  readonly name?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

export interface ToolInfo {
  readonly name: string;
  readonly description?: string;
  /** Rules may select tools by tag. */
  readonly tags?: readonly string[];
}

export interface ModelInfo {
  readonly name: string;
  readonly provider?: string;
}

export const RUN_STATUSES = ['success', 'error', 'timeout', 'interrupted'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** What stands against a run, told at its start and with every sign of life; `until` is Unix ms. */
export interface Lockdown {
  /** Told at the start of a run that has a parent: the runs whose orders hold for it. */
  readonly ancestors?: readonly string[];
  readonly active: boolean;
  readonly reason?: string;
  readonly until?: number;
  readonly kind?: 'paused' | 'killed';
  readonly lockdownId?: string;
  /** The model an operator wants used instead. */
  readonly modelOverride?: string;
}

/** A message in the conversation with a model, in any framework's shape that has these two fields. */
export interface AgentMessage {
  readonly role: string;
  readonly content: unknown;
}

export type LlmPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_call'; readonly toolCallId?: string; readonly toolName: string; readonly args?: unknown }
  | { readonly type: string; readonly [key: string]: unknown };

export interface LlmUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
}

/** What came of one model call. */
export interface LlmResponse {
  readonly content: readonly LlmPart[];
  readonly model: ModelInfo;
  readonly usage?: LlmUsage;
  readonly durationMs?: number;
  /** Made of the text parts where it is absent. */
  readonly outputText?: string;
  /** USD, where the caller knows; the server prices the tokens itself. */
  readonly costUsd?: number;
  /** The model's own confidence, 0 to 1; its falling trend can trip the breaker. */
  readonly confidence?: number;
  /** As given to `beforeLlm`; absent: the oldest call that is still open. */
  readonly callId?: string;
  /** The model call failed with this. */
  readonly error?: unknown;
}
