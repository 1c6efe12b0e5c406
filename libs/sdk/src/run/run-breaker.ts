import { type Breaker, CLOSED_BREAKER, check, type NextCall, record } from '@agentlens/guardrails/breaker';
import type { BreakerLimits, BreakerReason } from '../wire/contract.ts';
import type { LlmResponse } from '../wire/model.ts';

/**
 * The breaker of one run, kept in this process. A tool that keeps failing is not excused by the model calls between
 * its tries: only a success of the same kind begins the count again.
 */
export class RunBreaker {
  readonly #limits: () => BreakerLimits | null;
  readonly #now: () => number;
  readonly #tripped: (reason: BreakerReason) => void;
  #breaker: Breaker = CLOSED_BREAKER;
  #failing: 'tool' | 'llm' | undefined;

  constructor(limits: () => BreakerLimits | null, now: () => number, tripped: (reason: BreakerReason) => void) {
    this.#limits = limits;
    this.#now = now;
    this.#tripped = tripped;
  }

  get state(): Breaker['state'] {
    return this.#breaker.state;
  }

  get usage(): Breaker['usage'] {
    return this.#breaker.usage;
  }

  /** Null: the call may begin. */
  refuses(next: NextCall): BreakerReason | null {
    const limits = this.#limits();
    if (limits === null) return null;
    const answer = check(this.#breaker, limits, this.#now(), next);
    this.#breaker = answer.breaker;
    if (answer.allowed) return null;
    if (answer.tripped) this.#tripped(answer.reason);
    return answer.reason;
  }

  modelAnswered(response: LlmResponse, callId: string): void {
    this.#add(
      {
        iterations: 1,
        tokens: (response.usage?.inputTokens ?? 0) + (response.usage?.outputTokens ?? 0),
        costUsd: response.costUsd,
        confidence: response.confidence,
      },
      { by: callId, kind: 'llm', failed: response.error !== undefined },
    );
  }

  toolEnded(callId: string, failed: boolean): void {
    this.#add({}, { by: callId, kind: 'tool', failed });
  }

  reset(): void {
    this.#breaker = CLOSED_BREAKER;
    this.#failing = undefined;
  }

  #add(
    used: { iterations?: number; tokens?: number; costUsd?: number; confidence?: number },
    call: { by: string; kind: 'tool' | 'llm'; failed: boolean },
  ): void {
    if (call.failed) this.#failing = call.kind;
    const counts = call.failed || this.#failing === call.kind || this.#breaker.state.kind === 'half_open';
    const outcome = call.failed ? 'failure' : 'success';
    this.#breaker = record(this.#breaker, { ...used, by: call.by, outcome: counts ? outcome : undefined }, this.#now());
  }
}
