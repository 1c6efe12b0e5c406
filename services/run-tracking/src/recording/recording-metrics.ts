import { type Counter, metrics } from '@opentelemetry/api';
import type { RecordedEvents } from './event-store.ts';

/** What this replica stored, and when: for `/metrics` and readiness. */
export class RecordingMetrics {
  readonly #stored: Counter;
  readonly #duplicates: Counter;
  readonly #conflicts: Counter;
  readonly #poison: Counter;
  #lastCommitMs: number | undefined;

  constructor(private readonly now: () => number) {
    const meter = metrics.getMeter('@agentlens/run-tracking');
    this.#stored = meter.createCounter('agentlens.events.stored', { description: 'Events stored for the first time' });
    this.#duplicates = meter.createCounter('agentlens.events.duplicate', {
      description: 'Duplicate events',
    });
    this.#conflicts = meter.createCounter('agentlens.events.conflict', {
      description: 'Duplicates of the same id and time with other contents; the first is kept',
    });
    this.#poison = meter.createCounter('agentlens.events.unstorable', {
      description: 'Events that Postgres rejected; their message became a dead letter',
    });
  }

  recorded({ stored, duplicates, conflicts }: RecordedEvents): void {
    this.#stored.add(stored);
    this.#duplicates.add(duplicates);
    this.#conflicts.add(conflicts);
    this.#lastCommitMs = this.now();
  }

  poison(): void {
    this.#poison.add(1);
  }

  /** Milliseconds since the last commit; undefined before the first. */
  lastCommitAgeMs(): number | undefined {
    return this.#lastCommitMs === undefined ? undefined : this.now() - this.#lastCommitMs;
  }
}
