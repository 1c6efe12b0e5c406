import pg from 'pg';

/** Arbitrary number, the same for every process. */
const LOCK_KEY = 4_017_113_301;
/** Long, because migrations may wait for a busy server. */
const CONNECT_TIMEOUT_MS = 30_000;

/** Runs changes to schema and roles in one process at a time. The connections are closed afterwards. */
export async function withSchemaLock<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  pool.on('error', () => {
    // The statement that needs the connection reports it.
  });
  try {
    return await locked(pool, () => work(pool));
  } finally {
    await pool.end();
  }
}

/** Kysely takes its own lock too late, after creating its bookkeeping tables. */
async function locked<T>(pool: pg.Pool, work: () => Promise<T>): Promise<T> {
  const holder = await pool.connect();
  try {
    await holder.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    return await work();
  } finally {
    // Closes the session, which releases the lock.
    holder.release(true);
  }
}
