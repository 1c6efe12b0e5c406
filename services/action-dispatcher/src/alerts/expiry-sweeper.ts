import { alertFromRow, type Tables } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { Kysely } from 'kysely';
import type { AlertMetrics } from './alert-metrics.ts';
import { lapse, lockLapsed } from './alerts.repository.ts';

const PAGE = 100;

interface SweeperDependencies {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  readonly metrics: AlertMetrics;
  /** How often to look, which is how late an expiry can be, ms. */
  readonly everyMs: number;
  /** Called after a commit that wrote to the outbox. */
  readonly onChanged: () => void;
  readonly onError: (error: unknown) => void;
}

/** Ends alerts whose time has run out: at once after a start, then as they come. Any number of replicas may sweep. */
export class ExpirySweeper {
  readonly #parts: SweeperDependencies;
  readonly #rounds = new Repeating(() => this.#round());
  #stopped = false;
  #lastSweepAt: number;

  constructor(parts: SweeperDependencies) {
    this.#parts = parts;
    this.#lastSweepAt = parts.now();
  }

  /** When it last managed to look. */
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
      while (!this.#stopped && (await this.#page()) === PAGE);
      this.#lastSweepAt = this.#parts.now();
    } catch (error) {
      this.#parts.onError(error);
    }
    return this.#parts.everyMs;
  }

  async #page(): Promise<number> {
    const { db, now, metrics, onChanged } = this.#parts;
    const at = new Date(now()).toISOString();
    const expired = await db.transaction().execute(async (tx) => {
      const ended = [];
      for (const row of await lockLapsed(tx, at, PAGE)) ended.push(await lapse(tx, row, at));
      return ended;
    });
    for (const row of expired) metrics.ended(alertFromRow(row));
    if (expired.length > 0) onChanged();
    return expired.length;
  }
}
