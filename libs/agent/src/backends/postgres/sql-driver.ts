import type { Pool } from 'pg';
import type { SqlDriver } from '../../connectors/sql.ts';
import { AgentError } from '../../core/agent-error.ts';
import { toJson } from '../../core/json.ts';

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
