import { DAY_MS, decisionDecided, GROUPS, HOUR_MS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { type EventBus, Repeating, type Subscription } from '@agentlens/messaging';
import type { Clock, HealthRegistry, Platform } from '@agentlens/platform';
import { type Counter, metrics } from '@opentelemetry/api';
import { RetentionMetrics } from '../retention-metrics.ts';
import { DecisionRecorder } from './decision-recorder.ts';
import { DecisionStore } from './decision-store.ts';

const DECISIONS_GROUP = GROUPS.decisions;
const ACK_WAIT_MS = 5_000;
const DECISIONS_PER_CALL = 500;
const CALLS_AT_ONCE = 2;
const STALLED_MS = 60_000;
/** Between two rounds of dropping, so that a long backlog of old rows does not keep the disk busy. */
const NEXT_ROUND_MS = 200;
const RETRY_MS = 60_000;

interface DecisionTrackerDependencies {
  readonly bus: EventBus;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  readonly health: HealthRegistry;
  /** 0 keeps decisions for ever. */
  readonly retentionDays: number;
}

/** Keeps what was decided, as long as events are kept. */
export class DecisionTracker {
  readonly #parts: DecisionTrackerDependencies;
  readonly #store: DecisionStore;
  readonly #recorder: DecisionRecorder;
  readonly #stored: Counter;
  readonly #removed = new RetentionMetrics();
  readonly #retention = new Repeating(() => this.dropOld());
  #subscription: Subscription | undefined;

  constructor(parts: DecisionTrackerDependencies) {
    this.#parts = parts;
    this.#store = new DecisionStore(parts.database.pool);
    this.#stored = metrics
      .getMeter('@agentlens/run-tracking')
      .createCounter('agentlens.decisions.stored', { description: 'Decisions stored for the first time' });
    this.#recorder = new DecisionRecorder({
      store: this.#store,
      onRecorded: (stored) => this.#stored.add(stored),
      onPoison: (reason) => parts.logger.error({ reason }, 'a decision cannot be stored'),
      onAway: (err) => parts.logger.warn({ err }, 'decisions were not stored, they will be retried'),
    });
  }

  async start(): Promise<void> {
    const { bus, health } = this.#parts;
    this.#subscription = await bus.consume(
      decisionDecided,
      {
        group: DECISIONS_GROUP,
        maxBatch: DECISIONS_PER_CALL,
        concurrency: CALLS_AT_ONCE,
        ackWaitMs: ACK_WAIT_MS,
      },
      (messages) => this.#recorder.record(messages),
    );
    health.add('decision-storage', async () => {
      const lag = await bus.lag(decisionDecided, DECISIONS_GROUP);
      return { ok: lag.oldestAgeMs < STALLED_MS, detail: lag };
    });
    if (this.#parts.retentionDays > 0) this.#retention.start(0);
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
    await this.#retention.stop();
  }

  /** One round of retention; answers when the next one is due, ms. Rounds of several replicas do no harm. */
  async dropOld(): Promise<number> {
    const { clock, retentionDays, logger } = this.#parts;
    const before = new Date(clock.now() - retentionDays * DAY_MS).toISOString();
    try {
      const { dropped, more } = await this.#store.dropBefore(before);
      this.#removed.rows('decisions', dropped);
      if (dropped > 0) logger.info({ dropped, before }, 'decisions past retention are removed');
      return more ? NEXT_ROUND_MS : HOUR_MS;
    } catch (err) {
      logger.warn({ err }, 'decisions past retention could not be dropped');
      return RETRY_MS;
    }
  }
}
