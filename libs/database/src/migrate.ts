import { Kysely, PostgresDialect } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import pg from 'pg';
import * as init from './migrations/0001-init.ts';
import * as rolesAndGrants from './migrations/0002-roles-and-grants.ts';
import * as decisions from './migrations/0003-decisions.ts';
import * as runs from './migrations/0004-runs.ts';
import * as audit from './migrations/0005-audit.ts';
import * as agentOfRunOrders from './migrations/0006-agent-of-run-orders.ts';
import * as decisionFailMode from './migrations/0007-decision-fail-mode.ts';
import * as retentionIndexes from './migrations/0008-retention-indexes.ts';
import * as rowTypes from './migrations/0009-row-types.ts';
import * as roomInRuns from './migrations/0010-room-in-runs.ts';
import * as unroundedMoney from './migrations/0011-unrounded-money.ts';
import * as whatBlocks from './migrations/0012-what-blocks.ts';
import * as twoEndsOfARun from './migrations/0013-two-ends-of-a-run.ts';

/** Listed by hand instead of read from a folder: type-checked, and the same when bundled. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-init': init,
  '0002-roles-and-grants': rolesAndGrants,
  '0003-decisions': decisions,
  '0004-runs': runs,
  '0005-audit': audit,
  '0006-agent-of-run-orders': agentOfRunOrders,
  '0007-decision-fail-mode': decisionFailMode,
  '0008-retention-indexes': retentionIndexes,
  '0009-row-types': rowTypes,
  '0010-room-in-runs': roomInRuns,
  '0011-unrounded-money': unroundedMoney,
  '0012-what-blocks': whatBlocks,
  '0013-two-ends-of-a-run': twoEndsOfARun,
};

/** Any number; only has to be the same for every starter. */
const LOCK_KEY = 4_017_113_301;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Brings the schema to what this code expects, all or nothing, and says which migrations it applied. Any number of
 * processes may call it at once: one works, the others wait for it and find nothing to do. The login needs to own the
 * database and be allowed to create roles (or find them created).
 */
export async function migrate(url: string): Promise<{ applied: string[] }> {
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  pool.on('error', () => {
    // The statement that needed the connection reports it.
  });
  try {
    return await locked(pool, () => applyAll(pool));
  } finally {
    await pool.end();
  }
}

/** Kysely's own lock comes too late: it makes its bookkeeping tables before it takes it. */
async function locked<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const holder = await pool.connect();
  try {
    await holder.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    return await work();
  } finally {
    // Ends the session, and with it the lock, whatever happened.
    holder.release(true);
  }
}

async function applyAll(pool: pg.Pool): Promise<{ applied: string[] }> {
  // The pool outlives this Kysely: only the migrator uses it, and `migrate` ends the pool.
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const { error, results = [] } = await migrator.migrateToLatest();
  const failed = results.find((result) => result.status === 'Error');
  if (error !== undefined) {
    const which = failed === undefined ? '' : ` (${failed.migrationName})`;
    throw new Error(`The database could not be migrated${which}: ${messageOf(error)}`, { cause: error });
  }
  return { applied: results.filter((result) => result.status === 'Success').map((result) => result.migrationName) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
