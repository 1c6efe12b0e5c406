import { agentEvents, type EventBatch, factsOfMessage, GROUPS } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import type { HandlingOutcome, Received } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { type Counter, metrics } from '@opentelemetry/api';
import { RetentionMetrics, TrackingDropMetrics } from './metrics.ts';
import { EventPartitions } from './partitions/event-partitions.ts';
import { EventRecorder } from './recording/event-recorder.ts';
import { EventStore, type RecordedEvents } from './recording/event-store.ts';
import { Gathering } from './recording/gathering.ts';
import { RunChanges } from './run-changes.ts';

/** What this replica stored, and when: for `/metrics` and readiness. */
class RecordingMetrics {
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

/** The service is not ready while an event has waited longer than this to be stored. */
const STALLED_MS = 60_000;

interface RunTrackerDependencies extends Pick<Platform, 'bus' | 'clock' | 'health' | 'logger'> {
  readonly database: Database;
  readonly retentionDays: number;
  /** Minimum time between two writes under load, ms, so that many small messages are stored together. Default 0. */
  readonly paceMs?: number;
}

/** Stores agent events and the totals they add up to: runs, agents, days. */
export class RunTracker {
  readonly #dependencies: RunTrackerDependencies;
  readonly #metrics: RecordingMetrics;
  readonly #changes: RunChanges;
  readonly #partitions: EventPartitions;
  readonly #gathering: Gathering<EventBatch>;

  constructor(dependencies: RunTrackerDependencies) {
    const { bus, database, logger, retentionDays, paceMs = 0 } = dependencies;
    const now = (): number => dependencies.clock.now();
    this.#dependencies = dependencies;
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
        logger.info({ days, before }, 'dropped days of events past retention');
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
          logger.warn({ conflicts: recorded.conflicts }, 'events with a known id but other contents were ignored');
        }
      },
      onPoison: (reason) => {
        this.#metrics.poison();
        logger.error({ reason }, 'event cannot be stored, it became a dead letter');
      },
      onAway: (err) => logger.warn({ err }, 'storing events failed, will retry'),
    });
    this.#gathering = new Gathering({
      paceMs,
      now: () => performance.now(),
      eventsOf: (message) => factsOfMessage(message).events,
      record: (messages) => recorder.record(messages),
    });
  }

  async start(): Promise<void> {
    await this.#partitions.start();
    this.#dependencies.health.add('event-storage', () => this.#progress());
  }

  /** Stores the events of these messages; the outcomes tell which messages are settled. */
  take(messages: readonly Received<EventBatch>[]): Promise<readonly HandlingOutcome[]> {
    return this.#gathering.record(messages);
  }

  async stop(): Promise<void> {
    await this.#partitions.stop();
    await this.#changes.flush();
  }

  /** Progress, not connectivity: the age of the oldest event that is not stored yet. */
  async #progress(): Promise<{ ok: boolean; detail: object }> {
    const lag = await this.#dependencies.bus.lag(agentEvents, GROUPS.runTracking);
    const detail = { ...lag, lastCommitAgeMs: this.#metrics.lastCommitAgeMs() ?? null };
    return { ok: lag.oldestAgeMs < STALLED_MS, detail };
  }
}
