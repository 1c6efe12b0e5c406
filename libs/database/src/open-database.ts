import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Database, DatabaseRole } from './database.ts';
import { asTenant } from './queries.ts';
import { roleName } from './roles.ts';
import type { Tables } from './schema/tables.ts';
import { AnsweredCursor, answerWithin } from './stalled-connections/query-timeout.ts';
import { AnswerWatch, ServerInquiry } from './stalled-connections/stall-watch.ts';

const DATE = 1082;
const TIMESTAMPTZ = 1184;
const INT8 = 20;
const NUMERIC = 1700;
const UTC_TEXT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;

type Parser = (text: string) => unknown;

/**
 * Converts `2026-11-21 10:00:00.5+00` to `2026-11-21T10:00:00.500Z`. Values without an ISO form (`infinity`, BC) are
 * unchanged.
 */
function instantText(text: string): string {
  const parts = UTC_TEXT.exec(text);
  if (parts === null) return text;
  const [, day, time, fraction = ''] = parts;
  return `${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
}

const PARSERS: Readonly<Record<number, Parser>> = {
  [DATE]: (text) => text,
  [TIMESTAMPTZ]: instantText,
  [INT8]: Number,
  [NUMERIC]: Number,
};

/**
 * Set per pool instead of on `pg.types`, so that two copies of this library, or a host application with its own
 * parsers, do not affect each other. Timestamps require the session time zone UTC.
 */
const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS[oid]) || pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Longer than the slowest legitimate batch. The server times out first, the client only if the server is gone. */
const STATEMENT_TIMEOUT_MS = 9_500;
const QUERY_TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 2_000;
const IDLE_IN_TRANSACTION_MS = 30_000;

interface DatabaseOptions {
  readonly url: string;
  /** Service that uses this pool. */
  readonly role: DatabaseRole;
  readonly applicationName?: string;
  /** Default 10. */
  readonly maxConnections?: number;
  /** Called for connections that failed while idle; the pool replaces them. */
  readonly onIdleError?: (error: Error) => void;
  /** Client-side timeout of one statement, ms. Default 10,000. */
  readonly queryTimeoutMs?: number;
}

/**
 * Opens a pool whose sessions start as the service's role, in UTC, with timeouts. A connection that died silently is
 * detected within about three seconds, although a statement may run for nine; its query fails with "Connection
 * terminated" and can be retried. Connects with the first query. The database must be migrated, because the role must
 * exist.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const queryTimeoutMs = options.queryTimeoutMs ?? QUERY_TIMEOUT_MS;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.maxConnections ?? 10,
    application_name: options.applicationName ?? `agentlens-${options.role}`,
    // Startup options cost no round trip, and RESET returns to them instead of to the login role.
    options: sessionOptions(options.role),
    types: typeParsers,
    statement_timeout: Math.min(STATEMENT_TIMEOUT_MS, queryTimeoutMs),
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  const answers = new AnswerWatch(new ServerInquiry(options.url, CONNECT_TIMEOUT_MS));
  pool.on('connect', answerWithin(queryTimeoutMs));
  pool.on('connect', (client) => answers.watch(client));
  pool.on('error', (error) => options.onIdleError?.(error));
  // A connection lost between two statements of a transaction emits an error, which would end the process if unhandled.
  // The next statement reports the loss.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool, cursor: AnsweredCursor }) });
  return {
    db,
    pool,
    asTenant: (tenantId, work) => asTenant(db, tenantId, work),
    ping: async () => {
      await pool.query('select 1');
    },
    close: () => db.destroy(),
  };
}

function sessionOptions(role: DatabaseRole): string {
  // No JIT: compiling a large statement takes seconds, running ours milliseconds.
  const settings = [`role=${roleName(role)}`, 'timezone=UTC', 'datestyle=ISO', 'jit=off'];
  // Its one statement has the same plan for all values, and planning it costs as much as storing fifty events.
  if (role === 'run-tracking') settings.push('plan_cache_mode=force_generic_plan');
  return settings.map((setting) => `-c ${setting}`).join(' ');
}
