import { agentEvents, runHeartbeats } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { type EventBus, observeQueue, Repeating, type Subscription } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import { type Counter, metrics } from '@opentelemetry/api';
import { TrackingDropMetrics } from '../drop-metrics.ts';
import { RunChanges } from '../run-changes.ts';
import { KilledRuns } from './killed-runs.ts';
import { type Beat, RunLives } from './run-lives.ts';

const SWEEP_MS = 5_000;
const NEXT_ROUND_MS = 50;
/** While events wait longer than this, a run may only look silent. */
const BEHIND_MS = 10_000;
/** A killed run is to be seen as such soon; what stands against it holds at once. */
const KILLED_MS = 1_000;
const COLLECT_BEATS_MS = 500;
/** Beats are best effort: of more runs than this at once, the others are heard at their next. */
const MOST_BEATS = 10_000;

interface RunSweeperDependencies {
  readonly bus: EventBus;
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
  /** Whose backlog keeps silent runs from being given up. */
  readonly eventsGroup: string;
  /** An agent's own end counts as the run's after this long without an event of it. */
  readonly quietSeconds: number;
  readonly drops?: Pick<TrackingDropMetrics, 'dropped'>;
}

/** Ends runs that will not end themselves, and hears the heartbeats that say otherwise. */
export class RunSweeper {
  readonly #parts: RunSweeperDependencies;
  readonly #lives: RunLives;
  readonly #killed: KilledRuns;
  readonly #changes: RunChanges;
  readonly #beats = new Map<string, Beat>();
  readonly #sweeping = new Repeating(() => this.sweep());
  readonly #killing = new Repeating(() => this.settleKilled());
  readonly #collecting = new Repeating(() => this.takeBeats());
  readonly #overdue: Counter;
  readonly #drops: Pick<TrackingDropMetrics, 'dropped'>;
  #subscription: Subscription | undefined;

  constructor(parts: RunSweeperDependencies) {
    this.#parts = parts;
    this.#drops = parts.drops ?? new TrackingDropMetrics();
    this.#lives = new RunLives(parts.database.pool);
    this.#killed = new KilledRuns(parts.database.pool);
    this.#overdue = metrics.getMeter('@agentlens/run-tracking').createCounter('agentlens.runs.overdue', {
      description: 'Runs the platform ended because nobody did, by status',
    });
    observeQueue({ name: 'heartbeats', capacity: MOST_BEATS, size: () => this.#beats.size });
    this.#changes = new RunChanges(
      parts.bus,
      () => parts.clock.now(),
      (err, runs) => {
        this.#drops.dropped('run_change', runs);
        parts.logger.debug({ err, runs }, 'run.changed was not published');
      },
    );
  }

  async start(): Promise<void> {
    this.#subscription = await this.#parts.bus.watch(runHeartbeats, { from: 'new' }, ({ value }) => {
      for (const beat of value.beats) this.#hear({ ...beat, tenantId: value.tenantId });
    });
    this.#sweeping.start(SWEEP_MS);
    this.#killing.start(KILLED_MS);
    this.#collecting.start(COLLECT_BEATS_MS);
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
    await this.#sweeping.stop();
    await this.#killing.stop();
    await this.#collecting.stop();
    await this.takeBeats();
    await this.#changes.flush();
  }

  /** One round; answers when the next one is due, ms. */
  async sweep(): Promise<number> {
    const { bus, eventsGroup, logger, quietSeconds } = this.#parts;
    try {
      const { oldestAgeMs } = await bus.lag(agentEvents, eventsGroup);
      if (oldestAgeMs > BEHIND_MS) return SWEEP_MS;
      const { ended, byStatus, more } = await this.#lives.endOverdue(quietSeconds);
      if (ended.length > 0)
        logger.info(Object.fromEntries(byStatus), 'marked runs as ended that did not end themselves');
      for (const [status, runs] of byStatus) this.#overdue.add(runs, { status });
      this.#changes.add(ended);
      return more ? NEXT_ROUND_MS : SWEEP_MS;
    } catch (err) {
      logger.warn({ err }, 'overdue runs could not be looked for');
      return SWEEP_MS;
    }
  }

  /** Marks the runs that orders killed since, also those that began or were heard of later. Answers when to look again, ms. */
  async settleKilled(): Promise<number> {
    try {
      this.#changes.add(await this.#killed.settle());
    } catch (err) {
      this.#parts.logger.warn({ err }, 'killed runs could not be marked, trying again');
      return SWEEP_MS;
    }
    return KILLED_MS;
  }

  /** Writes down the beats heard since the last time. Never throws: the next beats say the same again. */
  async takeBeats(): Promise<number> {
    const beats = [...this.#beats.values()];
    this.#beats.clear();
    if (beats.length === 0) return COLLECT_BEATS_MS;
    try {
      this.#changes.add(await this.#lives.take(beats));
    } catch (err) {
      this.#drops.dropped('heartbeat', beats.length);
      this.#parts.logger.warn({ err }, 'heartbeats were not written down');
    }
    return COLLECT_BEATS_MS;
  }

  #hear(beat: Beat): void {
    const key = JSON.stringify([beat.tenantId, beat.runId]);
    const known = this.#beats.get(key);
    if (known === undefined && this.#beats.size >= MOST_BEATS) {
      this.#drops.dropped('heartbeat', 1);
      return;
    }
    if (known === undefined || known.at < beat.at) this.#beats.set(key, beat);
  }
}
