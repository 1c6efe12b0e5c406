import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { dropPartitions, ensurePartitions, type Tables } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { Kysely } from 'kysely';

const RETRY_MS = 60_000;
const DAYS_AHEAD = 3;
/** Where events are kept for ever, days older than this still get no partition of their own. */
const OLDEST_DAYS = 400;
const DAY_TEXT = /^\d{4}-\d\d-\d\d$/;

interface EventPartitionsOptions {
  readonly db: Kysely<Tables>;
  readonly now: () => number;
  /** 0 keeps events for ever. */
  readonly retentionDays: number;
  /** Called with how many days were dropped, where there were any. */
  readonly onDropped?: (days: number, before: string) => void;
  readonly onError: (error: unknown, what: string) => void;
}

/**
 * Keeps the days of `events` made ahead and dropped by retention. A day that is missing costs nothing but tidiness: its
 * events wait in the default partition and move when the day is made.
 */
export class EventPartitions {
  readonly #options: EventPartitionsOptions;
  readonly #made = new Set<string>();
  readonly #tending = new Repeating(() => this.#tend());

  constructor(options: EventPartitionsOptions) {
    this.#options = options;
  }

  /** Makes today and the days ahead before the first event comes, then looks again every hour. */
  async start(): Promise<void> {
    this.#tending.start(await this.#tend());
  }

  stop(): Promise<void> {
    return this.#tending.stop();
  }

  /** Makes the days of late events. Days outside what is kept get no partition. Never throws: see above. */
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
        this.#options.onError(error, `the partition of ${day} could not be made`);
      }
    }
  }

  /** Answers when to look again, ms. */
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
      onError(error, 'partitions past retention could not be dropped');
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
