import type { ErrorInfo } from './agent-error.ts';
import type { OutputChunk } from './input-output.ts';
import type { Json } from './json.ts';
import type { TokenUsage } from './token-usage.ts';

/** Driver events in addition to the chunks: planning, model calls, memory, safety and platform decisions. */
export type DriverEvent =
  | { readonly type: 'step-start' | 'step-end'; readonly step: number }
  | { readonly type: 'plan'; readonly step: number; readonly plan: Json }
  | {
      readonly type: 'reflect';
      readonly step: number;
      readonly next: 'plan' | 'finish' | 'abort';
      readonly note?: string;
    }
  | { readonly type: 'model-start'; readonly callId: string; readonly model: string; readonly provider?: string }
  | {
      readonly type: 'model-end';
      readonly callId: string;
      readonly model: string;
      readonly provider?: string;
      readonly usage: TokenUsage;
      readonly costUsd?: number;
      readonly durationMs: number;
      readonly stopReason?: string;
      readonly error?: ErrorInfo;
    }
  | {
      readonly type: 'memory-write';
      readonly store: 'memory' | 'database';
      readonly key: string;
      readonly dropped: boolean;
    }
  | { readonly type: 'prompt-rendered'; readonly templateId: string; readonly version: string; readonly hash: string }
  | {
      readonly type: 'safety';
      readonly phase: string;
      readonly rule: string;
      readonly action: 'modify' | 'block';
      readonly inputHash: string;
      readonly toolName?: string;
    }
  | {
      readonly type: 'decision';
      readonly toolUseId: string;
      readonly toolName: string;
      readonly verdict: 'allow' | 'change' | 'block';
      readonly reason: string;
      readonly ruleId?: string;
    }
  | { readonly type: 'provider-selected'; readonly provider: string; readonly rejected: Json }
  | {
      readonly type: 'retry';
      readonly what: string;
      readonly attempt: number;
      readonly waitMs: number;
      readonly error: ErrorInfo;
    }
  | { readonly type: 'warning'; readonly message: string };

/** One entry of a session's log: `seq` counts from 1 without gaps, `at` is Unix ms. */
export type AgentEvent = {
  readonly seq: number;
  readonly id: string;
  readonly at: number;
  readonly sessionId: string;
  readonly runId: string | null;
  readonly turn: number;
} & (OutputChunk | DriverEvent);

/** Sent to a reader that was too slow: `missed` events were dropped, and the next one is `resumedAt`. */
export interface Lagged {
  readonly type: 'lagged';
  readonly missed: number;
  readonly resumedAt: number;
}
