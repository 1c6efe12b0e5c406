import pg from 'pg';
import { abandon, backendPid } from './pg-internals.ts';

/** What the server says of one of its connections. */
interface BackendState {
  /**
   * Since when the server waits for the client; undefined: it works on a statement. Two equal marks mean that nothing
   * happened in between.
   */
  readonly waitsSince: string | undefined;
}

export interface ServerView {
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
