import pg, { type PoolClient } from 'pg';
import { abandon, backendPid, bytesRead } from './pg-internals.ts';

/** The server's view of one of its connections. */
interface BackendState {
  /**
   * Time since which the server waits for the client; undefined while it runs a statement. Two equal values mean that
   * nothing happened in between.
   */
  readonly waitsSince: string | undefined;
}

interface ServerView {
  /** By process id; a missing process has ended. Undefined behind a pooler, where process ids mean nothing. */
  readonly backends: ReadonlyMap<number, BackendState> | undefined;
}

interface Row {
  readonly pid: number;
  readonly waits_since: string | null;
}

const STATES = `select pid, case when wait_event_type = 'Client' then state_change::text end as waits_since
  from pg_stat_activity where pid = any($1) or pid = pg_backend_pid()`;

/**
 * Ends the backend only if nothing has happened since. Otherwise its transaction would hold locks until the server
 * gives up.
 */
const END = `select pg_terminate_backend(pid) from pg_stat_activity
  where pid = $1 and wait_event_type = 'Client' and state_change::text = $2`;

/**
 * Asks over a separate connection with the login role, because a service's role cannot see other connections of its
 * login.
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

  /** @throws if the server does not answer in time */
  backends(pids: readonly number[]): Promise<ServerView> {
    return this.connected(async (client) => {
      const { rows } = await client.query<Row>(STATES, [pids]);
      if (!rows.some(({ pid }) => pid === backendPid(client))) return { backends: undefined };
      return { backends: new Map(rows.map((row) => [row.pid, { waitsSince: row.waits_since ?? undefined }])) };
    });
  }

  /** Ends connections that have been waiting for their client since the given times. */
  async end(waiting: ReadonlyMap<number, string>): Promise<void> {
    await this.connected(async (client) => {
      for (const mark of waiting) await client.query(END, mark);
    });
  }

  private async connected<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.config);
    // The statement that it affects reports it.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await work(client);
    } finally {
      // A terminate message would wait for a server that may be gone.
      abandon(client);
    }
  }
}

/** Silence after which the server is asked. */
const SILENT_MS = 1_500;
/** By then an answer in transit has arrived. */
const LOOK_AGAIN_MS = 500;
/** Number of consecutive failed inquiries after which the server is considered unreachable. */
const FAILED_INQUIRIES = 2;
const TOO_MANY_CONNECTIONS = '53300';

interface Awaited {
  /** When the statement was sent or the last byte received, monotonic ms. */
  silentSince: number;
  bytesRead: number;
  /** Time since which the server has been waiting for us, by its own clock, according to the last inquiry. */
  waitsSince?: string;
}

/**
 * Detects answers that will never arrive. A connection can die silently, and a statement may run for seconds. Only the
 * server knows which is the case, so it is asked over another connection. While it works, the wait continues; if it has
 * finished or waits for us, the answer or the request was lost, and the connection is abandoned before its timeout.
 */
export class AnswerWatch {
  private readonly inquiry: Pick<ServerInquiry, 'backends' | 'end'>;
  private readonly clients = new Map<PoolClient, Awaited | undefined>();
  private timer: NodeJS.Timeout | undefined;
  private failedInquiries = 0;

  constructor(inquiry: Pick<ServerInquiry, 'backends' | 'end'>) {
    this.inquiry = inquiry;
  }

  /** Watches a connection of the pool until it ends. */
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
    // One timer for all connections, and none while no statement is pending.
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

  /** Connections with an overdue answer, by the server's process id. */
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
      // The server is reachable if it says so.
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
      // The answer may have arrived in the meantime.
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
    // Release server-side locks first, because callers retry immediately.
    if (holding.size > 0) await this.inquiry.end(holding).catch(() => undefined);
    await this.giveUp(lost);
  }

  /**
   * Abandons the lost connections and, before them, all idle ones: they used the same path, and a caller that retries
   * must not get one of them.
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
