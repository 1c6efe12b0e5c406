import { Pool, type PoolClient, type QueryResult } from 'pg';
import type { SqlDriver } from '../../connectors/sql.ts';
import { AgentError } from '../../core/agent-error.ts';
import { toJson } from '../../core/json.ts';

/** You can pass your own pool; it is not closed then. */
export type PostgresClientOptions = ({ readonly connectionString: string } | { readonly pool: Pool }) & {
  readonly now?: () => number;
};

const STATEMENT_TIMEOUT_MS = 10_000;
/** Only one process creates the tables at a time. */
const SETUP_LOCK = 7_203_001;

/** Version 1 of the tables. `expires_at` is Unix ms; rows name the version that wrote them. */
const SCHEMA = `
  CREATE SCHEMA IF NOT EXISTS agentlens_agent;
  CREATE TABLE IF NOT EXISTS agentlens_agent.streams (stream_key text PRIMARY KEY, last_seq bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS agentlens_agent.memory (
    stream_key text NOT NULL, seq bigint NOT NULL, entry text NOT NULL, words tsvector NOT NULL,
    idempotency_key text, expires_at bigint, schema_version int NOT NULL DEFAULT 1, PRIMARY KEY (stream_key, seq)
  );
  CREATE UNIQUE INDEX IF NOT EXISTS memory_idempotency ON agentlens_agent.memory (stream_key, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
  CREATE INDEX IF NOT EXISTS memory_words ON agentlens_agent.memory USING gin (words);
  CREATE INDEX IF NOT EXISTS memory_expiry ON agentlens_agent.memory (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS agentlens_agent.documents (
    collection text NOT NULL, key text COLLATE "C" NOT NULL, value text NOT NULL, doc jsonb NOT NULL, words tsvector NOT NULL,
    version bigint NOT NULL, expires_at bigint, schema_version int NOT NULL DEFAULT 1, PRIMARY KEY (collection, key)
  );
  CREATE INDEX IF NOT EXISTS documents_words ON agentlens_agent.documents USING gin (words);
  CREATE INDEX IF NOT EXISTS documents_expiry ON agentlens_agent.documents (expires_at) WHERE expires_at IS NOT NULL;
`;

/** A pool that creates its tables on first use. */
export class PostgresConnection {
  readonly #pool: Pool;
  readonly #owned: boolean;
  #ready: Promise<void> | undefined;

  constructor(options: PostgresClientOptions) {
    this.#owned = 'connectionString' in options;
    this.#pool =
      'pool' in options
        ? options.pool
        : new Pool({
            connectionString: options.connectionString,
            max: 10,
            connectionTimeoutMillis: 5_000,
            statement_timeout: STATEMENT_TIMEOUT_MS,
          });
    // A lost server is reported by the next query and must not end the process.
    if (this.#owned) this.#pool.on('error', () => undefined);
  }

  async query(text: string, values: readonly unknown[]): Promise<QueryResult<Record<string, unknown>>> {
    await this.#setUp();
    return this.#pool.query<Record<string, unknown>>(text, [...values]);
  }

  async transaction<T>(body: (client: PoolClient) => Promise<T>): Promise<T> {
    await this.#setUp();
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      const result = await body(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  async close(): Promise<void> {
    if (this.#owned) await this.#pool.end();
  }

  #setUp(): Promise<void> {
    this.#ready ??= this.#makeTables().catch((error: unknown) => {
      // Retried with the next query.
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #makeTables(): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock($1)', [SETUP_LOCK]);
      await client.query(SCHEMA);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }
}

/** Matches any of the words, which contain only letters, digits and underscores. */
export function textQuery(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' | ');
}

/** Postgres rejects zero characters in searchable text. */
export function withoutZeros(text: string): string {
  return text.replaceAll('\u0000', '');
}

/** A pool for `sqlConnector`. Each statement runs in its own transaction, read-only if requested. */
export function postgresDriver(pool: Pool): SqlDriver {
  return {
    async run(statement, parameters, { readOnly, maxRows, timeoutMs }) {
      const single = statement.trim().replace(/;\s*$/, '');
      const client = await pool.connect();
      try {
        await client.query(readOnly ? 'BEGIN READ ONLY' : 'BEGIN');
        await client.query("SELECT set_config('statement_timeout', $1, true)", [String(timeoutMs)]);
        // With parameters the server accepts only one statement; the prepared form is used without parameters too.
        const result = await client.query({
          name: '',
          text: single,
          values: [...parameters],
          queryMode: 'extended',
        } as { text: string; values: unknown[] });
        await client.query('COMMIT');
        const rows = result.rows.slice(0, maxRows).map((row: unknown) => toJson(row));
        return { rows, ...(result.command === 'SELECT' ? {} : { changes: result.rowCount ?? 0 }) };
      } catch (error) {
        await client.query('ROLLBACK');
        throw new AgentError('tool_failed', error instanceof Error ? error.message : 'the statement failed', {
          cause: error,
        });
      } finally {
        client.release();
      }
    },
  };
}
