import { agentEvents, type EventBatch, factsOfMessage, GROUPS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import type { EventBus, Subscription } from '@agentlens/messaging';
import type { Clock, HealthRegistry, Platform } from '@agentlens/platform';
import { TrackingDropMetrics } from './drop-metrics.ts';
import { EventPartitions } from './partitions/event-partitions.ts';
import { EventRecorder } from './recording/event-recorder.ts';
import { EventStore } from './recording/event-store.ts';
import { Gathering } from './recording/gathering.ts';
import { RecordingMetrics } from './recording-metrics.ts';
import { RetentionMetrics } from './retention-metrics.ts';
import { RunChanges } from './run-changes.ts';

export const GROUP = GROUPS.runTracking;
/** How soon the messages of a replica that died come back; those of one that works are kept for it meanwhile. */
const ACK_WAIT_MS = 5_000;
/** Calls are gathered into statements; together these are the messages held here. Small ones come one to a call. */
const MESSAGES_PER_CALL = 4;
const CALLS_AT_ONCE = 100;
/** Events older than this that nobody stored mean that this service makes no progress. */
const STALLED_MS = 60_000;

interface RunTrackerDependencies {
  readonly bus: EventBus;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  readonly health: HealthRegistry;
  readonly retentionDays: number;
  /** Where many events come one by one, they are stored together so often, ms. Default 0. */
  readonly paceMs?: number;
}

/** Consumes agent events and keeps what they amount to: events, runs, agents, days. */
export class RunTracker {
  readonly #parts: RunTrackerDependencies;
  readonly #metrics: RecordingMetrics;
  readonly #changes: RunChanges;
  readonly #partitions: EventPartitions;
  readonly #gathering: Gathering<EventBatch>;
  #subscription: Subscription | undefined;

  constructor(parts: RunTrackerDependencies) {
    const { bus, database, logger, retentionDays, paceMs = 0 } = parts;
    const now = (): number => parts.clock.now();
    this.#parts = parts;
    this.#metrics = new RecordingMetrics(now);
    const drops = new TrackingDropMetrics();
    this.#changes = new RunChanges(bus, now, (err, runs) => {
      drops.dropped('run_change', runs);
      logger.debug({ err, runs }, 'run.changed was not published');
    });
    const retention = new RetentionMetrics();
    this.#partitions = new EventPartitions({
      db: database.db,
      now,
      retentionDays,
      onDropped: (days, before) => {
        retention.partitions('events', days);
        logger.info({ days, before }, 'days of events past retention are dropped');
      },
      onError: (err, what) => logger.warn({ err }, what),
    });
    const recorder = new EventRecorder({
      store: new EventStore(database.pool),
      prepareDays: (days) => this.#partitions.prepare(days),
      onRecorded: (recorded) => {
        this.#metrics.recorded(recorded);
        this.#changes.add(recorded.runs);
        drops.dropped('event_of_deleted_run', recorded.deleted);
        if (recorded.conflicts > 0) {
          logger.warn(
            { conflicts: recorded.conflicts },
            'event ids came again with other contents; the first were kept',
          );
        }
      },
      onPoison: (reason) => {
        this.#metrics.poison();
        logger.error({ reason }, 'an event cannot be stored');
      },
      onAway: (err) => logger.warn({ err }, 'events were not stored, they will be retried'),
    });
    this.#gathering = new Gathering({
      paceMs,
      now: () => performance.now(),
      eventsOf: (message) => factsOfMessage(message).events,
      record: (messages) => recorder.record(messages),
    });
  }

  async start(): Promise<void> {
    const { bus, health } = this.#parts;
    await this.#partitions.start();
    this.#subscription = await bus.consume(
      agentEvents,
      {
        group: GROUP,
        maxBatch: MESSAGES_PER_CALL,
        concurrency: CALLS_AT_ONCE,
        ackWaitMs: ACK_WAIT_MS,
        lazy: true,
      },
      (messages) => this.#gathering.record(messages),
    );
    health.add('event-storage', () => this.#progress());
  }

  async stop(): Promise<void> {
    await this.#partitions.stop();
    await this.#subscription?.close();
    await this.#changes.flush();
  }

  /** Progress, not connectivity: how old the oldest event is that nobody stored. */
  async #progress(): Promise<{ ok: boolean; detail: object }> {
    const lag = await this.#parts.bus.lag(agentEvents, GROUP);
    const detail = { ...lag, lastCommitAgeMs: this.#metrics.lastCommitAgeMs() ?? null };
    return { ok: lag.oldestAgeMs < STALLED_MS, detail };
  }
}
