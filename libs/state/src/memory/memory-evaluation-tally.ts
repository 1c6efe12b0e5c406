import { type EvaluatedMessage, type EvaluationTally, minuteOf } from '../evaluation-tally.ts';
import { LIFETIMES } from '../lifetimes.ts';
import { ExpiringMap } from './expiring-map.ts';

interface Minute {
  readonly sequences: Set<number>;
  readonly events: Map<string, number>;
}

/** The tally of one process. */
export class MemoryEvaluationTally implements EvaluationTally {
  readonly #minutes: ExpiringMap<Minute>;

  constructor(now: () => number) {
    this.#minutes = new ExpiringMap(now);
  }

  async add(messages: readonly EvaluatedMessage[]): Promise<void> {
    for (const { tenantId, receivedAtMs, sequence, events } of messages) {
      const key = String(minuteOf(receivedAtMs));
      const minute = this.#minutes.get(key) ?? { sequences: new Set(), events: new Map() };
      this.#minutes.set(key, minute, LIFETIMES.evaluationTally);
      if (minute.sequences.has(sequence)) continue;
      minute.sequences.add(sequence);
      minute.events.set(tenantId, (minute.events.get(tenantId) ?? 0) + events);
    }
  }

  async read(minuteMs: number): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#minutes.get(String(minuteMs))?.events);
  }
}
