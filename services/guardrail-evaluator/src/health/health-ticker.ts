import { MINUTE_MS } from '@agentlens/contracts';
import { type RuleBook, type TickRule, tick } from '@agentlens/guardrails';
import { Repeating } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import type { TriggerPublisher } from '../evaluation/evaluation-stages.ts';
import type { StateRecorder } from '../states/state-recorder.ts';

/** Health scores of a tenant's agents over the last days. Agents without data are absent. */
export interface HealthScores {
  of(tenantId: string, windowDays: number, nowMs: number): Promise<ReadonlyMap<string, number>>;
}

interface HealthTickerDependencies {
  readonly rules: { readonly book: RuleBook };
  readonly scores: HealthScores;
  readonly publisher: TriggerPublisher;
  readonly states: Pick<StateRecorder, 'record'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/**
 * Evaluates slow conditions once a minute. Every replica does so; they make the same trigger ids, and one of them gets
 * the cooldown.
 */
export class HealthTicker {
  readonly #parts: HealthTickerDependencies;
  readonly #ticking = new Repeating(() => this.tick(this.#parts.clock.now()).then(() => this.#untilNextMinute()));

  constructor(parts: HealthTickerDependencies) {
    this.#parts = parts;
  }

  start(): void {
    this.#ticking.start(this.#untilNextMinute());
  }

  stop(): Promise<void> {
    return this.#ticking.stop();
  }

  /** Evaluates every tenant that has health rules. A tenant that fails is retried in the next minute. */
  async tick(nowMs: number): Promise<void> {
    const { rules, logger } = this.#parts;
    for (const tenantId of rules.book.tenants) {
      const ticking = rules.book.ticking(tenantId);
      if (ticking.length === 0) continue;
      try {
        await this.#tenant(tenantId, ticking, nowMs);
      } catch (error) {
        logger.warn({ err: error, tenantId }, 'evaluating health rules failed, retrying in the next minute');
      }
    }
  }

  async #tenant(tenantId: string, rules: readonly TickRule[], nowMs: number): Promise<void> {
    for (const [windowDays, alike] of Map.groupBy(rules, (rule) => rule.windowDays)) {
      const scores = await this.#parts.scores.of(tenantId, windowDays, nowMs);
      const triggers = alike.flatMap((rule) => this.#measure(rule, scores, nowMs));
      await this.#parts.publisher.admit(triggers);
    }
  }

  #measure(rule: TickRule, scores: ReadonlyMap<string, number>, nowMs: number) {
    const agents = rule.agentId === undefined ? [...scores.keys()] : [rule.agentId];
    return agents.flatMap((agentId) => {
      const { value, trigger } = tick(rule, agentId, scores.get(agentId) ?? null, nowMs);
      this.#parts.states.record({
        tenantId: rule.tenantId,
        ruleId: rule.id,
        agentId,
        lastEvaluatedAt: new Date(nowMs).toISOString(),
        currentValue: value,
        degradedReason: null,
      });
      return trigger ?? [];
    });
  }

  /** Milliseconds to the start of the next minute, so that all replicas evaluate the same minute. */
  #untilNextMinute(): number {
    return MINUTE_MS - (this.#parts.clock.now() % MINUTE_MS);
  }
}
