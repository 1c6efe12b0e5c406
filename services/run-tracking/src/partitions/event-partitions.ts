import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { dropPartitions, ensurePartitions, type Tables } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { Kysely } from 'kysely';

const RETRY_MS = 60_000;
const DAYS_AHEAD = 3;
/** Without retention, days older than this get no partition of their own. */
const OLDEST_DAYS = 400;
const DAY_TEXT = /^\d{4}-\d\d-\d\d$/;

interface EventPartitionsOptions {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  /** 0 keeps events without limit. */
  readonly retentionDays: number;
  /** Called with the number of dropped days, if any. */
  readonly onDropped?: (days: number, before: string) => void;
  readonly onError: (error: unknown, what: string) => void;
}

/**
 * Creates daily partitions of `events` ahead of time and drops those past retention. Events of a missing day go to the
 * default partition and move when the day is created.
 */
export class EventPartitions {
  readonly #options: EventPartitionsOptions;
  readonly #made = new Set<string>();
  readonly #tending = new Repeating(() => this.#tend());

  constructor(options: EventPartitionsOptions) {
    this.#options = options;
  }

  /** Creates today and the days ahead before the first event arrives, then checks every hour. */
  async start(): Promise<void> {
    this.#tending.start(await this.#tend());
  }

  stop(): Promise<void> {
    return this.#tending.stop();
  }

  /** Creates partitions for late events. Days past retention get none. Never throws. */
  async prepare(days: ReadonlySet<string>): Promise<void> {
    const { db, now } = this.#options;
    const oldest = dayText(now() - this.#keptDays() * DAY_MS);
    const newest = dayText(now() + DAYS_AHEAD * DAY_MS);
    for (const day of days) {
      if (this.#made.has(day) || !DAY_TEXT.test(day) || day < oldest || day > newest) continue;
      try {
        await ensurePartitions(db, 'events', Date.parse(day), Date.parse(day));
        this.#made.add(day);
      } catch (error) {
        this.#options.onError(error, `creating the partition of ${day} failed, using the default partition`);
      }
    }
  }

  /** @returns when to check again, ms */
  async #tend(): Promise<number> {
    const { now } = this.#options;
    const ahead = Array.from({ length: DAYS_AHEAD + 1 }, (_, n) => dayText(now() + n * DAY_MS));
    await this.prepare(new Set(ahead));
    const dropped = await this.#dropOld();
    const complete = dropped && ahead.every((day) => this.#made.has(day));
    return complete ? HOUR_MS : RETRY_MS;
  }

  async #dropOld(): Promise<boolean> {
    const { db, now, retentionDays, onDropped, onError } = this.#options;
    if (retentionDays === 0) return true;
    const before = dayText(now() - retentionDays * DAY_MS);
    try {
      const dropped = await dropPartitions(db, 'events', Date.parse(before));
      if (dropped > 0) onDropped?.(dropped, before);
      for (const day of this.#made) if (day < before) this.#made.delete(day);
      return true;
    } catch (error) {
      onError(error, 'dropping partitions past retention failed, will retry');
      return false;
    }
  }

  #keptDays(): number {
    return this.#options.retentionDays === 0 ? OLDEST_DAYS : this.#options.retentionDays;
  }
}

function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
