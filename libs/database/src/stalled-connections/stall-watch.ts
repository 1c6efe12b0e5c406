import pg, { type PoolClient } from 'pg';
import { abandon, backendPid, bytesRead } from './pg-internals.ts';

/** What the server says of one of its connections. */
interface BackendState {
  /**
   * Since when the server waits for the client; undefined: it works on a statement. Two equal marks mean that nothing
   * happened in between.
   */
  readonly waitsSince: string | undefined;
}

interface ServerView {
  /** By process id; one that is not there has ended. Undefined: a pooler stands in between, so ids say nothing. */
  readonly backends: ReadonlyMap<number, BackendState> | undefined;
}

interface Row {
  readonly pid: number;
  readonly waits_since: string | null;
}

const STATES = `select pid, case when wait_event_type = 'Client' then state_change::text end as waits_since
  from pg_stat_activity where pid = any($1) or pid = pg_backend_pid()`;

/** Its transaction would hold its locks until the server gives it up; it ends only if nothing has happened since. */
const END = `select pg_terminate_backend(pid) from pg_stat_activity
  where pid = $1 and wait_event_type = 'Client' and state_change::text = $2`;

/**
 * Asks over a connection of its own, as the login role: a service's role may not see what connections of its own login
 * do.
 */
export class ServerInquiry {
  private readonly config: pg.ClientConfig;

  constructor(url: string, deadlineMs: number) {
    this.config = {
      connectionString: url,
      application_name: 'agentlens-inquiry',
      connectionTimeoutMillis: deadlineMs,
      query_timeout: deadlineMs,
      statement_timeout: deadlineMs,
    };
  }

  /** @throws when the server does not answer in time. */
  backends(pids: readonly number[]): Promise<ServerView> {
    return this.connected(async (client) => {
      const { rows } = await client.query<Row>(STATES, [pids]);
      if (!rows.some(({ pid }) => pid === backendPid(client))) return { backends: undefined };
      return { backends: new Map(rows.map((row) => [row.pid, { waitsSince: row.waits_since ?? undefined }])) };
    });
  }

  /** Ends connections that still wait for their client since the given marks. */
  async end(waiting: ReadonlyMap<number, string>): Promise<void> {
    await this.connected(async (client) => {
      for (const mark of waiting) await client.query(END, mark);
    });
  }

  private async connected<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.config);
    // Reported by the statement that it hits.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      // A goodbye would wait for a server that may be gone.
      abandon(client);
    }
  }
}

/** An answer that has not come for so long makes us ask. */
const SILENT_MS = 1_500;
/** An answer on its way has arrived by then. */
const LOOK_AGAIN_MS = 500;
/** So many inquiries in a row without an answer: the server, or the way to it, is gone. */
const FAILED_INQUIRIES = 2;
const TOO_MANY_CONNECTIONS = '53300';

interface Awaited {
  /** When the statement was sent or the last byte came, monotonic ms. */
  silentSince: number;
  bytesRead: number;
  /** Since when the server waits for us instead of working, by its own clock, if the last inquiry found it so. */
  waitsSince?: string;
}

/**
 * Finds answers that will never come. A connection can die without a word, and a statement may work for seconds: only
 * the server can tell one from the other, asked over another connection. Where it works, the wait goes on; where it has
 * ended or itself waits for us, the answer or the question was lost, and the connection is abandoned at once instead of
 * at its deadline.
 */
export class AnswerWatch {
  private readonly inquiry: Pick<ServerInquiry, 'backends' | 'end'>;
  private readonly clients = new Map<PoolClient, Awaited | undefined>();
  private timer: NodeJS.Timeout | undefined;
  private failedInquiries = 0;

  constructor(inquiry: Pick<ServerInquiry, 'backends' | 'end'>) {
    this.inquiry = inquiry;
  }

  /** Watches a connection of the pool from its first statement to its end. */
  watch(client: PoolClient): void {
    this.clients.set(client, undefined);
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const watched = (...args: unknown[]): unknown => {
      if (this.clients.get(client) === undefined) this.await(client);
      return query(...args);
    };
    client.query = watched as typeof client.query;
    client.on('drain', () => {
      if (this.clients.has(client)) this.clients.set(client, undefined);
    });
    client.once('end', () => this.clients.delete(client));
  }

  private await(client: PoolClient): void {
    if (!this.clients.has(client)) return;
    this.clients.set(client, { silentSince: performance.now(), bytesRead: bytesRead(client) });
    this.checkIn(SILENT_MS);
  }

  private checkIn(ms: number): void {
    // One timer for all, and none while nothing is asked.
    this.timer ??= setTimeout(() => void this.check(), ms).unref();
  }

  private async check(): Promise<void> {
    const silent = this.silent();
    if (silent.size > 0) await this.inquire(silent);
    else this.failedInquiries = 0;
    this.timer = undefined;
    const now = performance.now();
    const next = [...this.clients.values()].flatMap((awaited) =>
      awaited === undefined ? [] : [awaited.silentSince + SILENT_MS - now],
    );
    if (next.length > 0) this.checkIn(Math.max(LOOK_AGAIN_MS, Math.min(...next)));
  }

  /** Connections whose answer is overdue, by the server's process id. */
  private silent(): ReadonlyMap<number, readonly [PoolClient, Awaited]> {
    const silent = new Map<number, readonly [PoolClient, Awaited]>();
    for (const [client, awaited] of this.clients) {
      const pid = backendPid(client);
      if (awaited !== undefined && pid !== null && this.isSilent(client, awaited)) silent.set(pid, [client, awaited]);
    }
    return silent;
  }

  private isSilent(client: PoolClient, awaited: Awaited): boolean {
    if (this.clients.get(client) !== awaited) return false;
    const now = performance.now();
    const read = bytesRead(client);
    if (read !== awaited.bytesRead) {
      delete awaited.waitsSince;
      awaited.bytesRead = read;
      awaited.silentSince = now;
    }
    return now - awaited.silentSince >= SILENT_MS;
  }

  private async inquire(silent: ReadonlyMap<number, readonly [PoolClient, Awaited]>): Promise<void> {
    let view: ServerView;
    try {
      view = await this.inquiry.backends([...silent.keys()]);
      this.failedInquiries = 0;
    } catch (error) {
      // A server that says so is there.
      if (isTooManyConnections(error)) return;
      this.failedInquiries += 1;
      if (this.failedInquiries >= FAILED_INQUIRIES) await this.giveUp([...silent.values()].map(([client]) => client));
      return;
    }
    const { backends } = view;
    if (backends === undefined) return;
    const lost: PoolClient[] = [];
    const holding = new Map<number, string>();
    for (const [pid, [client, awaited]] of silent) {
      // Its answer may have come while we asked.
      if (!this.isSilent(client, awaited)) continue;
      const backend = backends.get(pid);
      if (backend === undefined) {
        lost.push(client);
      } else if (backend.waitsSince !== undefined && backend.waitsSince === awaited.waitsSince) {
        lost.push(client);
        holding.set(pid, backend.waitsSince);
      } else if (backend.waitsSince === undefined) {
        delete awaited.waitsSince;
      } else {
        awaited.waitsSince = backend.waitsSince;
      }
    }
    if (lost.length === 0) return;
    // First the server lets go of what they lock: whoever is told of the loss tries again at once.
    if (holding.size > 0) await this.inquiry.end(holding).catch(() => undefined);
    await this.giveUp(lost);
  }

  /**
   * Idle connections go too: they went the same way, and each would cost its next user the same wait. They go first, so
   * that whoever is told of the loss, and tries again, is not given one of them.
   */
  private async giveUp(lost: readonly PoolClient[]): Promise<void> {
    const idle = [...this.clients].flatMap(([client, awaited]) => (awaited === undefined ? [client] : []));
    await Promise.all(idle.map((client) => this.abandon(client)));
    await Promise.all(lost.map((client) => this.abandon(client)));
  }

  private async abandon(client: PoolClient): Promise<void> {
    if (!this.clients.delete(client)) return;
    const ended = new Promise((resolve) => client.once('end', resolve));
    abandon(client);
    await ended;
  }
}

function isTooManyConnections(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === TOO_MANY_CONNECTIONS;
}
