import { DAY_MS, type Decision, decisionDecided, GROUPS, HOUR_MS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { type HandlingOutcome, type Received, Repeating } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { type Counter, metrics } from '@opentelemetry/api';
import { RetentionMetrics } from '../retention-metrics.ts';
import { DecisionRecorder } from './decision-recorder.ts';
import { DecisionStore } from './decision-store.ts';

const STALLED_MS = 60_000;
/** Pause between two rounds of deletion, so that a long backlog does not keep the disk busy. */
const NEXT_ROUND_MS = 200;
const RETRY_MS = 60_000;

interface DecisionTrackerDependencies extends Pick<Platform, 'bus' | 'clock' | 'health' | 'logger'> {
  readonly database: Database;
  /** 0 keeps decisions without limit. */
  readonly retentionDays: number;
}

/** Stores decisions and deletes them when their retention ends. */
export class DecisionTracker {
  readonly #dependencies: DecisionTrackerDependencies;
  readonly #store: DecisionStore;
  readonly #recorder: DecisionRecorder;
  readonly #stored: Counter;
  readonly #removed = new RetentionMetrics();
  readonly #retention = new Repeating(() => this.dropOld());

  constructor(dependencies: DecisionTrackerDependencies) {
    this.#dependencies = dependencies;
    this.#store = new DecisionStore(dependencies.database.pool);
    this.#stored = metrics
      .getMeter('@agentlens/run-tracking')
      .createCounter('agentlens.decisions.stored', { description: 'Decisions stored for the first time' });
    this.#recorder = new DecisionRecorder({
      store: this.#store,
      onRecorded: (stored) => this.#stored.add(stored),
      onPoison: (reason) => dependencies.logger.error({ reason }, 'decision cannot be stored, it became a dead letter'),
      onAway: (err) => dependencies.logger.warn({ err }, 'storing decisions failed, will retry'),
    });
  }

  start(): void | Promise<void> {
    const { bus, health } = this.#dependencies;
    health.add('decision-storage', async () => {
      const lag = await bus.lag(decisionDecided, GROUPS.decisions);
      return { ok: lag.oldestAgeMs < STALLED_MS, detail: lag };
    });
    if (this.#dependencies.retentionDays > 0) this.#retention.start(0);
  }

  /** Stores these decisions; the outcomes tell which messages are settled. */
  take(messages: readonly Received<Decision>[]): Promise<readonly HandlingOutcome[]> {
    return this.#recorder.record(messages);
  }

  async stop(): Promise<void> {
    await this.#retention.stop();
  }

  /** Deletes one batch. Replicas may do so at the same time. @returns when the next batch is due, ms */
  async dropOld(): Promise<number> {
    const { clock, retentionDays, logger } = this.#dependencies;
    const before = new Date(clock.now() - retentionDays * DAY_MS).toISOString();
    try {
      const { dropped, more } = await this.#store.dropBefore(before);
      this.#removed.rows('decisions', dropped);
      if (dropped > 0) logger.info({ dropped, before }, 'removed decisions past retention');
      return more ? NEXT_ROUND_MS : HOUR_MS;
    } catch (err) {
      logger.warn({ err }, 'removing decisions past retention failed, will retry');
      return RETRY_MS;
    }
  }
}
