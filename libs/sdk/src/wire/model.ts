import type { Actor, Subject } from './contract.ts';

export type { Actor, Subject };

/** The agent of this process. Its id is stable per tenant and slug. */
export interface AgentIdentity {
  readonly slug: string;
  readonly name?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
}

export interface ToolInfo {
  readonly name: string;
  readonly description?: string;
  /** Rules can select tools by tag. */
  readonly tags?: readonly string[];
}

export interface ModelInfo {
  readonly name: string;
  readonly provider?: string;
}

export const RUN_STATUSES = ['success', 'error', 'timeout', 'interrupted'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Lockdown of a run, sent at its start and with every heartbeat; `until` is Unix ms. */
export interface Lockdown {
  /** Sent at the start of a run with a parent: the runs whose orders apply to it. */
  readonly ancestors?: readonly string[];
  readonly active: boolean;
  readonly reason?: string;
  readonly until?: number;
  readonly kind?: 'paused' | 'killed';
  readonly lockdownId?: string;
  /** Model set by an operator. */
  readonly modelOverride?: string;
}

/** A message in the conversation with a model; any framework's format that has these two fields. */
export interface AgentMessage {
  readonly role: string;
  readonly content: unknown;
}

export type LlmPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_call'; readonly toolCallId?: string; readonly toolName: string; readonly args?: unknown }
  | { readonly type: string; readonly [key: string]: unknown };

/** Tokens of a model call, by each kind that vendors bill. */
export interface LlmUsage {
  /** Includes cached reads and writes, and audio. */
  readonly inputTokens?: number;
  /** Includes thinking and audio. */
  readonly outputTokens?: number;
  readonly cacheReadTokens?: number;
  /** Includes `cacheWrite1hTokens`. */
  readonly cacheWriteTokens?: number;
  /** Cache writes that live for an hour. */
  readonly cacheWrite1hTokens?: number;
  readonly reasoningTokens?: number;
  readonly audioInputTokens?: number;
  readonly audioOutputTokens?: number;
  /** Audio that was read from the cache: a part of `cacheReadTokens` and of `audioInputTokens`. */
  readonly cacheReadAudioTokens?: number;
  /** Web searches that the vendor ran; vendors charge a fee for each. */
  readonly webSearches?: number;
  /** Searches of the vendor's own file store. */
  readonly fileSearches?: number;
  /** The total as the vendor reports it; shows whether thinking comes on top of the output. */
  readonly totalTokens?: number;
  /** The tier that served the call, as the vendor names it: `default`, `flex`, `priority`, `batch`. */
  readonly serviceTier?: string;
}

/** Result of one model call. */
export interface LlmResponse {
  readonly content: readonly LlmPart[];
  readonly model: ModelInfo;
  readonly usage?: LlmUsage;
  readonly durationMs?: number;
  /** Default: built from the text parts. */
  readonly outputText?: string;
  /** USD, if the caller knows it; otherwise the server prices the tokens. */
  readonly costUsd?: number;
  /** The model's own confidence, 0 to 1; a falling trend can trip the breaker. */
  readonly confidence?: number;
  /** As passed to `beforeLlm`; default: the oldest open call. */
  readonly callId?: string;
  /** The error of a failed model call. */
  readonly error?: unknown;
}

/** Words that frameworks and this platform use for the end of a run. */
const ENDINGS = {
  success: 'success',
  completed: 'success',
  succeeded: 'success',
  ok: 'success',
  error: 'error',
  failed: 'error',
  timeout: 'timeout',
  timed_out: 'timeout',
  interrupted: 'interrupted',
  cancelled: 'interrupted',
  canceled: 'interrupted',
  aborted: 'interrupted',
  stopped: 'interrupted',
} as const satisfies Readonly<Record<string, RunStatus>>;

/** A run status or a synonym. */
export type RunEnding = keyof typeof ENDINGS;

/** Undefined for an unknown word, which must not count as success. */
export function statusOfEnding(ending: unknown): RunStatus | undefined {
  return typeof ending === 'string' && Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending as RunEnding] : undefined;
}
