import { agentEvents, GROUPS, runHeartbeats } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { observeQueue, Repeating, type Subscription } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import { type Counter, metrics } from '@opentelemetry/api';
import { TrackingDropMetrics } from '../metrics.ts';
import { RunChanges } from '../run-changes.ts';
import { KilledRuns } from './killed-runs.ts';
import { type Beat, RunLives } from './run-lives.ts';
import { StoppedRuns } from './stopped-runs.ts';

const SWEEP_MS = 5_000;
const NEXT_ROUND_MS = 50;
/** While the oldest event waits longer than this, silent runs are left alone: their events may be in the backlog. */
const BEHIND_MS = 10_000;
/** How often killed runs are marked. The order itself takes effect at once. */
const KILLED_MS = 1_000;
const COLLECT_BEATS_MS = 500;
/** Maximum number of runs whose heartbeats are held; heartbeats of further runs are dropped. */
const MAX_BEATS = 10_000;

interface RunSweeperDependencies extends Pick<Platform, 'bus' | 'clock' | 'logger'> {
  readonly database: Database;
  /** The end that an agent reported ends the run after this long without another event. */
  readonly quietSeconds: number;
  readonly drops?: Pick<TrackingDropMetrics, 'dropped'>;
  readonly overdueProgress?: LoopProgress;
  readonly killedProgress?: LoopProgress;
}

/** Ends overdue and killed runs, and records heartbeats. */
export class RunSweeper {
  readonly #dependencies: RunSweeperDependencies;
  readonly #ownProgress = new LoopProgress();
  readonly #lives: RunLives;
  readonly #killed: KilledRuns;
  readonly #stopped: StoppedRuns;
  readonly #changes: RunChanges;
  readonly #beats = new Map<string, Beat>();
  readonly #sweeping = new Repeating(() => this.sweep());
  readonly #killing = new Repeating(() => this.settleKilled());
  readonly #collecting = new Repeating(() => this.takeBeats());
  readonly #overdue: Counter;
  readonly #drops: Pick<TrackingDropMetrics, 'dropped'>;
  #subscription: Subscription | undefined;

  constructor(dependencies: RunSweeperDependencies) {
    this.#dependencies = dependencies;
    this.#drops = dependencies.drops ?? new TrackingDropMetrics();
    this.#lives = new RunLives(dependencies.database.pool);
    this.#killed = new KilledRuns(dependencies.database.pool);
    this.#stopped = new StoppedRuns(dependencies.database.pool);
    this.#overdue = metrics.getMeter('@agentlens/run-tracking').createCounter('agentlens.runs.overdue', {
      description: 'Overdue runs that the platform ended, by status',
    });
    observeQueue({ name: 'heartbeats', capacity: MAX_BEATS, size: () => this.#beats.size });
    this.#changes = new RunChanges(
      dependencies.bus,
      () => dependencies.clock.now(),
      (err, runs) => {
        this.#drops.dropped('run_change', runs);
        dependencies.logger.debug({ err, runs }, 'run.changed was not published');
      },
    );
  }

  async start(): Promise<void> {
    this.#subscription = await this.#dependencies.bus.watch(runHeartbeats, { from: 'new' }, ({ value }) => {
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

  /** Ends overdue runs. @returns when the next round is due, ms */
  async sweep(): Promise<number> {
    const { bus, logger, quietSeconds, overdueProgress = this.#ownProgress } = this.#dependencies;
    try {
      const { oldestAgeMs } = await bus.lag(agentEvents, GROUPS.runTracking);
      if (oldestAgeMs > BEHIND_MS) return SWEEP_MS;
      const { ended, byStatus, more } = await overdueProgress.attempt(() => this.#lives.endOverdue(quietSeconds));
      if (ended.length > 0) logger.info(Object.fromEntries(byStatus), 'ended overdue runs');
      for (const [status, runs] of byStatus) this.#overdue.add(runs, { status });
      this.#changes.add(ended);
      return more ? NEXT_ROUND_MS : SWEEP_MS;
    } catch (err) {
      logger.warn({ err }, 'ending overdue runs failed, will retry');
      return SWEEP_MS;
    }
  }

  /** Marks runs that orders killed, including runs that started after the order, or rules ended. @returns when the next round is due, ms */
  async settleKilled(): Promise<number> {
    const { killedProgress = this.#ownProgress } = this.#dependencies;
    try {
      this.#changes.add(await killedProgress.attempt(() => this.#killed.settle()));
      this.#changes.add(await killedProgress.attempt(() => this.#stopped.settle()));
    } catch (err) {
      this.#dependencies.logger.warn({ err }, 'marking killed and ended runs failed, will retry');
      return SWEEP_MS;
    }
    return KILLED_MS;
  }

  /** Records the heartbeats received since the last call. Never throws: the next heartbeats repeat them. */
  async takeBeats(): Promise<number> {
    const beats = [...this.#beats.values()];
    this.#beats.clear();
    if (beats.length === 0) return COLLECT_BEATS_MS;
    try {
      this.#changes.add(await this.#lives.take(beats));
    } catch (err) {
      this.#drops.dropped('heartbeat', beats.length);
      this.#dependencies.logger.warn({ err }, 'recording heartbeats failed, dropped them');
    }
    return COLLECT_BEATS_MS;
  }

  #hear(beat: Beat): void {
    const key = JSON.stringify([beat.tenantId, beat.runId]);
    const known = this.#beats.get(key);
    if (known === undefined && this.#beats.size >= MAX_BEATS) {
      this.#drops.dropped('heartbeat', 1);
      return;
    }
    if (known === undefined || known.at < beat.at) this.#beats.set(key, beat);
  }
}
