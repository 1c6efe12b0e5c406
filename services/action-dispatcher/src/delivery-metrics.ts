import type { Trigger } from '@agentlens/contracts';
import { metrics } from '@opentelemetry/api';
import type { Backlog } from './deliveries/deliveries.repository.ts';
import type { SettledDelivery } from './deliveries/settlements.repository.ts';
import type { RecordedTriggers } from './triggers/trigger-recorder.ts';

type AttemptOutcome = 'delivered' | 'retry' | 'rejected';

/** Labels are action types and outcomes: closed sets, so the number of series is bounded. */
export class DeliveryMetrics {
  readonly #meter = metrics.getMeter('@agentlens/action-dispatcher');
  readonly #triggers = this.#meter.createCounter('agentlens.triggers.recorded', {
    description: 'Triggers taken from the bus, by what became of them; "known" had arrived before.',
  });
  readonly #deliveries = this.#meter.createCounter('agentlens.deliveries', {
    description:
      'Attempts by outcome (delivered, retry, rejected), and what was not tried: deferred (its destination rests) or dropped.',
  });
  readonly #givenUp = this.#meter.createCounter('agentlens.deliveries.given_up', {
    description: 'Actions that ended without having been carried out, by action and why.',
  });
  readonly #duration = this.#meter.createHistogram('agentlens.delivery.duration', {
    description: 'How long one attempt took.',
    unit: 'ms',
  });
  readonly #latency = this.#meter.createHistogram('agentlens.delivery.latency', {
    description: 'From the trigger to the end of the attempt that delivered it.',
    unit: 'ms',
  });
  #backlog: Backlog = { waiting: 0, oldestDueMs: 0 };
  #unwell = 0;

  constructor() {
    const waiting = this.#meter.createObservableGauge('agentlens.deliveries.waiting', {
      description: 'Deliveries not settled yet, waiting for a retry included.',
    });
    const oldest = this.#meter.createObservableGauge('agentlens.deliveries.oldest_due_age', {
      description: 'How long the oldest due delivery has been waiting to be carried out.',
      unit: 'ms',
    });
    const resting = this.#meter.createObservableGauge('agentlens.destinations.resting', {
      description: 'Destinations this process does not call just now because they do not answer.',
    });
    waiting.addCallback((result) => result.observe(this.#backlog.waiting));
    oldest.addCallback((result) => result.observe(this.#backlog.oldestDueMs));
    resting.addCallback((result) => result.observe(this.#unwell));
  }

  /** @param recorded one result per trigger, in order */
  recorded(recorded: readonly RecordedTriggers[], triggers: readonly Trigger[]): void {
    for (const [n, { actionType }] of triggers.entries()) {
      const result = recorded[n] ?? 'known';
      this.#triggers.add(1, { result: result === 'begun' ? 'queued' : result });
      // Its rule is unknown, so it ends here without a delivery that could be settled.
      if (result === 'failed') this.#givenUp.add(1, { action: actionType, why: 'impossible' });
    }
  }

  settled(ended: readonly SettledDelivery[]): void {
    for (const { delivery, settlement } of ended) {
      const { next } = settlement;
      if (next.kind !== 'settled' || next.result !== 'failed') continue;
      this.#givenUp.add(1, { action: delivery.actionType, why: next.why });
    }
  }

  ended(action: string, outcome: AttemptOutcome | 'deferred' | 'dropped', durationMs: number): void {
    this.#deliveries.add(1, { action, outcome });
    if (outcome === 'deferred' || outcome === 'dropped') return;
    this.#duration.record(durationMs, { action, outcome });
  }

  delivered(action: string, latencyMs: number): void {
    this.#latency.record(latencyMs, { action });
  }

  observed(backlog: Backlog, unwell: number): void {
    this.#backlog = backlog;
    this.#unwell = unwell;
  }
}
