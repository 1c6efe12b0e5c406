import pg from 'pg';

/** Any number; only has to be the same for every starter. */
const LOCK_KEY = 4_017_113_301;
/** Migrations can wait for a server that is only busy. */
const CONNECT_TIMEOUT_MS = 30_000;

/** Changes to schema and roles, one starter at a time. The connections end with the work. */
export async function withSchemaLock<T>(url: string, work: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = new pg.Pool({ connectionString: url, max: 2, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  pool.on('error', () => {
    // The statement that needed the connection reports it.
  });
  try {
    return await locked(pool, () => work(pool));
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
