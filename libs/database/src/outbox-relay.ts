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
  /** Whose rows. Any number of replicas of that service may run a relay. */
  readonly writer: DatabaseRole;
  /**
   * Publishes one message and resolves when it is safe. May be called again for a message it published already (a crash
   * between publishing and forgetting), so the topic's message id has to make that harmless. Bound it well below 30 s.
   */
  readonly publish: (message: OutboxMessage) => Promise<unknown>;
  /** True of messages whose order among themselves matters to nobody: those next to each other are published together. */
  readonly unordered?: (message: OutboxMessage) => boolean;
  readonly onError?: (error: unknown) => void;
  /** How often to look without being nudged, ms. Default 1,000. */
  readonly pollMs?: number;
}

/** Turns committed `outbox` rows into messages, at least once; those that are not `unordered` in the order of their ids. */
export class OutboxRelay {
  readonly #options: OutboxRelayOptions;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #again = false;
  #stopped = true;

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
  }

  /** Drains now and then every `pollMs`; the poll finds what a crashed replica left behind. */
  start(): void {
    this.#stopped = false;
    this.nudge();
  }

  /** Call after a commit that wrote outbox rows: they are published at once instead of at the next poll. */
  nudge(): void {
    if (this.#stopped) return;
    if (this.#working !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#working = this.#work().finally(() => this.#rest());
  }

  /** Waits for the page in hand. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  /**
   * Publishes one page of rows and forgets them; answers how many. Zero also where another replica is at it. What failed
   * to publish, and everything after it, stays for the next time.
   * @throws what `publish` threw, after forgetting what was published before.
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
   * The next page, and the right to publish it until the transaction ends; nothing where another relay has that. One relay
   * at a time: a second one that skipped the locked rows would publish later facts before earlier ones. What the other one
   * forgot while this statement began is not among the rows, for they are locked as they are now.
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
    await this.#options.publish(row);
    return row.id;
  }

  /** What may be published at the same time. */
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

  async #work(): Promise<void> {
    do {
      this.#again = false;
      try {
        while (!this.#stopped && (await this.drain()) === PAGE);
      } catch (error) {
        this.#options.onError?.(error);
      }
    } while (this.#again && !this.#stopped);
  }

  #rest(): void {
    this.#working = undefined;
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.nudge(), this.#options.pollMs ?? POLL_MS);
  }
}
