import { type Kysely, sql, type Transaction } from 'kysely';
import type { DatabaseRole } from './database.ts';
import type { Tables } from './schema/tables.ts';

const PAGE = 100;
const POLL_MS = 1_000;

export interface OutboxMessage {
  readonly id: number;
  readonly topic: string;
  readonly body: Record<string, unknown>;
}

interface OutboxRelayOptions {
  readonly db: Kysely<Tables>;
  /** Service whose rows are published. Any number of its replicas may run a relay. */
  readonly writer: DatabaseRole;
  /**
   * Publishes one message and resolves when it is safe. May be called again for a published message after a crash, so
   * the topic must deduplicate by message id. Must time out well below 30 s.
   */
  readonly publish: (message: OutboxMessage) => Promise<unknown>;
  /** Returns true for messages that may be published out of order; adjacent ones are published together. */
  readonly unordered?: (message: OutboxMessage) => boolean;
  readonly onError?: (error: unknown) => void;
  /**
   * Returns true for an error of `publish` that is about the message, so that a retry cannot succeed. Such a row is
   * passed to `onRefused` and deleted, because it would hold up all later rows of every tenant. Default: never.
   */
  readonly isRefused?: (error: unknown) => boolean;
  readonly onRefused?: (message: OutboxMessage, error: unknown) => void;
  /** Runs each step of the background loop, to watch its progress. */
  readonly attempt?: (step: () => Promise<number>) => Promise<number>;
  /** Poll interval, ms. Default 1,000. */
  readonly pollMs?: number;
}

/** Publishes committed `outbox` rows at least once, in order of their ids unless they are `unordered`. */
export class OutboxRelay {
  readonly #options: OutboxRelayOptions;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  #stopped = true;

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
  }

  /** Drains now and every `pollMs`. The poll finds what a crashed replica left behind. */
  start(): void {
    this.#stopped = false;
    this.nudge();
  }

  /** Call after a commit that wrote outbox rows to publish them without waiting for the next poll. */
  nudge(): void {
    this.#begin(() => this.#publishAll());
  }

  #begin(work: () => Promise<unknown>): void {
    if (this.#stopped) return;
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#working = this.#work(work).finally(() => this.#rest());
  }

  /** Waits for the current page. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  /**
   * Publishes one page of rows, deletes them and returns their number; zero if another replica is publishing. A row
   * that could not be published, and all later rows, stay, unless it can never be published.
   * @throws the error of `publish`, after deleting the rows that were published
   */
  async drain(): Promise<number> {
    const { db, writer } = this.#options;
    let failure: { readonly error: unknown } | undefined;
    const published = await db.transaction().execute(async (transaction) => {
      const rows = await this.#take(transaction, writer);
      const done: number[] = [];
      for (const group of this.#groups(rows)) {
        const results = await Promise.allSettled(group.map((row) => this.#publish(row)));
        for (const result of results) {
          if (result.status === 'fulfilled') done.push(result.value);
          else failure ??= { error: result.reason };
        }
        if (failure !== undefined) break;
      }
      if (done.length > 0) await transaction.deleteFrom('outbox').where('id', 'in', done).execute();
      return done;
    });
    if (failure !== undefined) throw failure.error;
    return published.length;
  }

  /**
   * Returns the next page, locked until the transaction ends; empty if another relay has the lock. Only one relay may
   * work at a time: a second one that skipped locked rows would publish later facts before earlier ones. Rows that the
   * other relay deleted while this statement started are left out, because rows are locked in their current state.
   */
  async #take(transaction: Transaction<Tables>, writer: DatabaseRole): Promise<readonly OutboxMessage[]> {
    const { rows } = await sql<OutboxMessage>`
      with turn as materialized (
        select pg_try_advisory_xact_lock(hashtext(${`agentlens:outbox:${writer}`})) as mine
      )
      select o.id, o.topic, o.body
      from outbox o, turn
      where turn.mine and o.writer = ${writer}
      order by o.id
      limit ${PAGE}
      for update of o skip locked
    `.execute(transaction);
    return rows;
  }

  async #publish(row: OutboxMessage): Promise<number> {
    const { publish, isRefused = () => false, onRefused } = this.#options;
    try {
      await publish(row);
    } catch (error) {
      if (!isRefused(error)) throw error;
      onRefused?.(row, error);
    }
    return row.id;
  }

  /** Groups of rows that may be published concurrently. */
  #groups(rows: readonly OutboxMessage[]): OutboxMessage[][] {
    const { unordered = () => false } = this.#options;
    const groups: { readonly rows: OutboxMessage[]; readonly open: boolean }[] = [];
    for (const row of rows) {
      const open = unordered(row);
      const last = groups.at(-1);
      if (open && last?.open) last.rows.push(row);
      else groups.push({ rows: [row], open });
    }
    return groups.map((group) => group.rows);
  }

  async #work(first: () => Promise<unknown>): Promise<void> {
    let work = first;
    do {
      this.#again = false;
      try {
        await work();
      } catch (error) {
        this.#options.onError?.(error);
      }
      work = () => this.#publishAll();
    } while (this.#again && !this.#stopped);
  }

  async #publishAll(): Promise<void> {
    while (!this.#stopped && (await this.#attempt(() => this.drain())) === PAGE);
  }

  #attempt(work: () => Promise<number>): Promise<number> {
    const { attempt } = this.#options;
    return attempt === undefined ? work() : attempt(work);
  }

  /** Most polls find nothing, so a poll looks before it opens a transaction: one statement instead of three. */
  async #poll(): Promise<void> {
    if ((await this.#attempt(() => this.#countOne())) > 0) await this.#publishAll();
  }

  async #countOne(): Promise<number> {
    const { db, writer } = this.#options;
    return (await db.selectFrom('outbox').select('id').where('writer', '=', writer).limit(1).execute()).length;
  }

  #rest(): void {
    this.#working = undefined;
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.#begin(() => this.#poll()), this.#options.pollMs ?? POLL_MS);
  }
}
