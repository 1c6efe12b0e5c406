import {
  type Breaker,
  type CallUsage,
  CLOSED_BREAKER,
  check,
  type NextCall,
  record,
} from '@agentlens/guardrails/breaker';
import type { BreakerLimits, BreakerReason } from '../wire/contract.ts';
import type { LlmResponse } from '../wire/model.ts';

/** Larger values are invalid: the server ignores such a number, and so does this process. */
const MAX_TOKENS = 1e12;
const MAX_USD = 100_000;

/**
 * Circuit breaker of one run in this process: the server's own code, fed with the data that the hooks report. Only the
 * server can price a call without a reported cost.
 */
export class RunBreaker {
  readonly #limits: () => BreakerLimits | null;
  readonly #now: () => number;
  readonly #tripped: (reason: BreakerReason) => void;
  #breaker: Breaker = CLOSED_BREAKER;

  constructor(limits: () => BreakerLimits | null, now: () => number, tripped: (reason: BreakerReason) => void) {
    this.#limits = limits;
    this.#now = now;
    this.#tripped = tripped;
  }

  get state(): Breaker['state'] {
    return this.#breaker.state;
  }

  /** Null if the call may start. */
  refuses(next: NextCall): BreakerReason | null {
    const limits = this.#limits();
    if (limits === null) return null;
    const answer = check(this.#breaker, limits, this.#now(), next);
    this.#breaker = answer.breaker;
    if (answer.allowed) return null;
    if (answer.tripped) this.#tripped(answer.reason);
    return answer.reason;
  }

  modelAnswered({ usage, costUsd, confidence, error }: LlmResponse, callId: string): void {
    this.#record({
      ...{ of: 'llm', by: callId, outcome: error === undefined ? 'success' : 'failure', iterations: 1 },
      tokens:
        within(MAX_TOKENS, Math.round(usage?.inputTokens ?? 0)) +
        within(MAX_TOKENS, Math.round(usage?.outputTokens ?? 0)),
      costUsd: within(MAX_USD, costUsd ?? 0),
      ...(confidence === undefined ? {} : { confidence }),
    });
  }

  toolEnded(callId: string, failed: boolean): void {
    this.#record({ of: 'tool', by: callId, outcome: failed ? 'failure' : 'success' });
  }

  /** Processes an event of the agent: an error without a call is a failure, and any event may report confidence. */
  observe(kind: string, { confidence, tool, toolName }: Readonly<Record<string, unknown>>): void {
    const failed = kind === 'error' && tool === undefined && toolName === undefined;
    if (!failed && typeof confidence !== 'number') return;
    this.#record({
      ...(failed ? { outcome: 'failure' as const } : {}),
      ...(typeof confidence === 'number' ? { confidence } : {}),
    });
  }

  reset(): void {
    this.#breaker = CLOSED_BREAKER;
  }

  #record(used: CallUsage): void {
    this.#breaker = record(this.#breaker, used, this.#now());
  }
}

function within(most: number, amount: number): number {
  return amount >= 0 && amount <= most ? amount : 0;
}
