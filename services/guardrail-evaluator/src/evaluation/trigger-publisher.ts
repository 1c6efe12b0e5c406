import { guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { type CooldownStore, claimOf } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { EvaluatorMetrics } from './evaluator-metrics.ts';

/** Lets candidates through whose cooldown can be had, and makes them facts. Safe to repeat: ids and claims are the same. */
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
   * Claims in order, then publishes. Answers how many claims were refused.
   * @throws StateUnavailable, BusUnavailable: repeat all of it later
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
