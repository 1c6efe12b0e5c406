import { DatabaseSync } from 'node:sqlite';
import type { SqlDriver } from '../../connectors/sql.ts';
import { AgentError } from '../../core/agent-error.ts';
import { toJson } from '../../core/json.ts';

/** A SQLite file for `sqlConnector`. Opened read-only unless `write` is set. */
export function sqliteDriver(options: {
  readonly path: string;
  readonly write?: boolean;
}): SqlDriver & { close(): void } {
  const { path, write = false } = options;
  // Statements must not open another file or load code.
  const db = new DatabaseSync(path, { readOnly: !write, allowExtension: false });
  return {
    async run(statement, parameters, { readOnly, maxRows }) {
      if (/\b(?:attach|detach|pragma|vacuum)\b/i.test(statement))
        throw new AgentError('invalid_input', 'ATTACH, DETACH, PRAGMA and VACUUM are not allowed');
      const single = statement.trim().replace(/;\s*$/, '');
      if (hasSecondStatement(single)) throw new AgentError('invalid_input', 'only one statement at a time');
      if (readOnly && !/^(?:select|with|explain|values)\b/i.test(single))
        throw new AgentError('invalid_input', 'only statements that read are allowed');
      db.exec(`PRAGMA query_only = ${readOnly ? 1 : 0}`);
      const prepared = db.prepare(single);
      const given = parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
      const rows = [];
      for (const row of prepared.iterate(...given)) {
        rows.push(toJson(row));
        if (rows.length >= maxRows) break;
      }
      return { rows };
    },
    close: () => db.close(),
  };
}

/** A semicolon outside quotes and comments. */
function hasSecondStatement(statement: string): boolean {
  return statement
    .replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\//g, '')
    .includes(';');
}
