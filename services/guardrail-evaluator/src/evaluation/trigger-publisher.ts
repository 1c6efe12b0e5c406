import { guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { type CooldownStore, claimOf } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { EvaluatorMetrics } from './evaluator-metrics.ts';

/** Publishes the candidates that get their cooldown. Safe to repeat, because ids and claims stay the same. */
export class TriggerPublisher {
  readonly #cooldowns: Pick<CooldownStore, 'claim'>;
  readonly #bus: EventBus;
  readonly #metrics: EvaluatorMetrics;

  constructor(cooldowns: Pick<CooldownStore, 'claim'>, bus: EventBus, metrics: EvaluatorMetrics) {
    this.#cooldowns = cooldowns;
    this.#bus = bus;
    this.#metrics = metrics;
  }

  /**
   * Claims cooldowns in order, then publishes. Returns the number of refused claims.
   * @throws StateUnavailable, BusUnavailable if the whole call has to be repeated
   */
  async admit(candidates: readonly Trigger[]): Promise<{ readonly refused: number }> {
    const admitted: Trigger[] = [];
    for (const trigger of candidates) if (await this.#claimed(trigger)) admitted.push(trigger);
    await Promise.all(admitted.map((trigger) => this.#publish(trigger)));
    return { refused: candidates.length - admitted.length };
  }

  #claimed(trigger: Trigger): Promise<boolean> | boolean {
    const claim = claimOf(trigger);
    return claim === null || this.#cooldowns.claim(claim);
  }

  async #publish(trigger: Trigger): Promise<void> {
    const { duplicate } = await this.#bus.publish(guardrailTriggered, trigger);
    if (!duplicate) this.#metrics.triggered(trigger.conditionType, trigger.dryRun);
  }
}
