import type { ErrorCode } from '../core/agent-error.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import type { TokenUsage } from '../core/token-usage.ts';
import type { MemoryChange } from '../memory/filtered-memory.ts';
import type { ActionResult } from '../tools/tool.ts';

export interface ModelCall {
  readonly callId: string;
  readonly model: string;
  readonly provider?: string;
  readonly usage: TokenUsage;
  readonly costUsd?: number;
  readonly durationMs: number;
  readonly promptId?: string;
}

export interface Provenance {
  readonly agentId: string;
  readonly models: readonly string[];
  readonly template?: { readonly id: string; readonly version: string; readonly hash: string };
}

/** Result of a run. */
export interface AgentResult {
  readonly id: string;
  readonly sessionId: string;
  /** Id of the run on the platform. */
  readonly runId: string;
  readonly success: boolean;
  readonly result?: unknown;
  /** Only if `success` is false. */
  readonly error?: { readonly message: string; readonly code?: ErrorCode; readonly info?: unknown };
  /** ISO instants. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly steps: number;
  /** In call order. */
  readonly actions: readonly ActionResult[];
  readonly modelCalls: readonly ModelCall[];
  readonly tokenUsage: TokenUsage;
  /** USD; absent if the price of a call is unknown. */
  readonly costEstimate?: number;
  /** The events themselves, or a pointer to where they are stored. */
  readonly eventStream?: readonly AgentEvent[] | string;
  readonly memoryDeltas: readonly MemoryChange[];
  readonly provenance: Provenance;
  readonly diagnostics: { readonly warnings: readonly string[]; readonly traces?: readonly string[] };
  readonly aborted?: boolean;
  readonly retryInfo?: { readonly attempts: number; readonly lastError?: string };
  readonly seed?: number;
  readonly deterministic: boolean;
  readonly metrics: { readonly durationMs: number; readonly toolLatencyMs: Readonly<Record<string, number>> };
  readonly attachments?: Readonly<Record<string, string>>;
}

/** Alias of `AgentEvent`, as used in hooks and results. */
export type Event = AgentEvent;
export type EventHandler = (
  event: AgentEvent | { readonly type: 'metrics'; readonly metrics: AgentResult['metrics'] },
) => void;
