import { alertFromRow, type Tables } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { LoopProgress } from '@agentlens/platform';
import type { Kysely } from 'kysely';
import type { AlertMetrics } from './alert-metrics.ts';
import { endWithRun, lapse, lockLapsed, lockOrphaned } from './alerts.repository.ts';

const PAGE = 100;

interface SweeperDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  readonly metrics: AlertMetrics;
  /** Interval between sweeps, ms. An expiry can be this late. */
  readonly everyMs: number;
  /** Called after a commit that wrote to the outbox. */
  readonly onChanged: () => void;
  readonly onError: (error: unknown) => void;
  readonly progress: LoopProgress;
}

/** Expires overdue alerts and closes approvals whose run has ended, at the start and then at intervals. Any number of replicas may sweep. */
export class ExpirySweeper {
  readonly #dependencies: SweeperDependencies;
  readonly #rounds = new Repeating(() => this.#round());
  #stopped = false;
  #lastSweepAt: number;

  constructor(dependencies: SweeperDependencies) {
    this.#dependencies = dependencies;
    this.#lastSweepAt = dependencies.now();
  }

  /** Time of the last successful sweep. */
  get lastSweepAt(): number {
    return this.#lastSweepAt;
  }

  start(): void {
    this.#stopped = false;
    this.#rounds.start(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#rounds.stop();
  }

  async #round(): Promise<number> {
    try {
      const { progress } = this.#dependencies;
      while (!this.#stopped && (await progress.attempt(() => this.#page())) > 0);
      this.#lastSweepAt = this.#dependencies.now();
    } catch (error) {
      this.#dependencies.onError(error);
    }
    return this.#dependencies.everyMs;
  }

  async #page(): Promise<number> {
    const { db, now, metrics, onChanged } = this.#dependencies;
    const nowMs = now();
    const at = new Date(nowMs).toISOString();
    const closed = await db.transaction().execute(async (tx) => {
      const ended = [];
      for (const row of await lockLapsed(tx, at, PAGE)) ended.push(await lapse(tx, row, at));
      if (ended.length > 0) return ended;
      for (const row of await lockOrphaned(tx, nowMs, PAGE)) ended.push(await endWithRun(tx, row, at));
      return ended;
    });
    for (const row of closed) metrics.ended(alertFromRow(row));
    if (closed.length > 0) onChanged();
    return closed.length;
  }
}
