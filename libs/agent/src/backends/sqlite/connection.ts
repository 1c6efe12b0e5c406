import { DatabaseSync } from 'node:sqlite';
import type { SqlDriver } from '../../connectors/sql.ts';
import { AgentError } from '../../core/agent-error.ts';
import { toJson } from '../../core/json.ts';

export interface SqliteOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly now?: () => number;
}

const BUSY_MS = 5_000;

/** Version 1 of the tables. `expires_at` is Unix ms; rows name the version that wrote them. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS agent_streams (stream_key TEXT PRIMARY KEY, last_seq INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS agent_memory (
    id INTEGER PRIMARY KEY, stream_key TEXT NOT NULL, seq INTEGER NOT NULL, entry TEXT NOT NULL,
    idempotency_key TEXT, expires_at INTEGER, schema_version INTEGER NOT NULL DEFAULT 1, UNIQUE (stream_key, seq)
  );
  CREATE UNIQUE INDEX IF NOT EXISTS agent_memory_idempotency ON agent_memory (stream_key, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
  CREATE INDEX IF NOT EXISTS agent_memory_expiry ON agent_memory (expires_at) WHERE expires_at IS NOT NULL;
  CREATE VIRTUAL TABLE IF NOT EXISTS agent_memory_words USING fts5 (words, tokenize = "unicode61 tokenchars '_'");
  CREATE TABLE IF NOT EXISTS agent_documents (
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, version INTEGER NOT NULL,
    expires_at INTEGER, schema_version INTEGER NOT NULL DEFAULT 1, UNIQUE (collection, key)
  );
  CREATE INDEX IF NOT EXISTS agent_documents_expiry ON agent_documents (expires_at) WHERE expires_at IS NOT NULL;
  CREATE VIRTUAL TABLE IF NOT EXISTS agent_document_words USING fts5 (words, tokenize = "unicode61 tokenchars '_'");
`;

/** One connection that creates its tables. Several processes can share a file. */
export class SqliteConnection {
  readonly db: DatabaseSync;

  constructor(path: string) {
    this.db = new DatabaseSync(path);
    this.db.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;`);
    this.transaction(() => this.db.exec(SCHEMA));
  }

  transaction<T>(body: () => T): T {
    this.db.exec('BEGIN IMMEDIATE');
    try {
      const result = body();
      this.db.exec('COMMIT');
      return result;
    } catch (error) {
      this.db.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    if (this.db.isOpen) this.db.close();
  }
}

/** Matches any of the words, each quoted, so that text is never query syntax. */
export function ftsQuery(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(' OR ');
}

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
