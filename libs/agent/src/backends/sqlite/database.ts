import { type Json, parseJson } from '../../core/json.ts';
import type {
  DatabaseClient,
  DatabaseQuery,
  DatabaseRow,
  FieldCondition,
  FoundRow,
  WriteOptions,
} from '../../memory/database-client.ts';
import { checkVersion } from '../../memory/in-memory-database-client.ts';
import { isRange, limitOf, pathOf, textsOf, wordsOf } from '../../memory/queries.ts';
import { ftsQuery, SqliteConnection, type SqliteOptions } from './connection.ts';

type Parameter = string | number | null;

/** Documents in one SQLite file. */
export class SqliteDatabaseClient implements DatabaseClient {
  readonly #connection: SqliteConnection;
  readonly #now: () => number;

  constructor({ path, now = Date.now }: SqliteOptions) {
    this.#connection = new SqliteConnection(path);
    this.#now = now;
  }

  async write(
    collection: string,
    key: string,
    value: Json,
    options: WriteOptions = {},
  ): Promise<{ readonly version: number }> {
    const { ifAbsent = false, ifVersion, ttlMs } = options;
    const { db } = this.#connection;
    return this.#connection.transaction(() => {
      this.#removeExpired();
      const before = db
        .prepare('SELECT id, version FROM agent_documents WHERE collection = ? AND key = ?')
        .get(collection, key);
      checkVersion(before === undefined ? undefined : Number(before.version), ifAbsent, ifVersion);
      const version = before === undefined ? 1 : Number(before.version) + 1;
      const written = db
        .prepare(
          `INSERT INTO agent_documents (collection, key, value, version, expires_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (collection, key) DO UPDATE SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at
           RETURNING id`,
        )
        .get(collection, key, JSON.stringify(value), version, ttlMs === undefined ? null : this.#now() + ttlMs);
      const id = Number(written?.id);
      db.prepare('DELETE FROM agent_document_words WHERE rowid = ?').run(id);
      db.prepare('INSERT INTO agent_document_words (rowid, words) VALUES (?, ?)').run(id, textsOf(value));
      return { version };
    });
  }

  async read(collection: string, key: string): Promise<DatabaseRow | null> {
    const row = this.#connection.db
      .prepare(
        'SELECT key, value, version FROM agent_documents WHERE collection = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)',
      )
      .get(collection, key, this.#now());
    return row === undefined ? null : rowOf(row);
  }

  async query(collection: string, query: DatabaseQuery = {}): Promise<DatabaseRow[]> {
    const { prefix = '', after, where = {}, orderBy } = query;
    const parameters: Parameter[] = [collection, this.#now(), prefix.length, prefix];
    const conditions = ['collection = ?', '(expires_at IS NULL OR expires_at > ?)', 'substr(key, 1, ?) = ?'];
    if (after !== undefined) {
      conditions.push('key > ?');
      parameters.push(after);
    }
    for (const [field, condition] of Object.entries(where))
      conditions.push(conditionOf(pathOf(field), condition, parameters));
    let order = 'key';
    if (orderBy !== undefined) {
      const path = jsonPath(pathOf(orderBy.field));
      order = `json_type(value, '${path}') IS NULL, json_extract(value, '${path}') ${orderBy.descending === true ? 'DESC' : 'ASC'}, key`;
    }
    const rows = this.#connection.db
      .prepare(
        `SELECT key, value, version FROM agent_documents WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT ?`,
      )
      .all(...parameters, limitOf(query));
    return rows.map(rowOf);
  }

  async search(
    text: string,
    { collection, topK = 10 }: { readonly collection?: string; readonly topK?: number } = {},
  ): Promise<FoundRow[]> {
    const words = wordsOf(text);
    if (words.length === 0) return [];
    const rows = this.#connection.db
      .prepare(
        `SELECT d.collection, d.key, d.value, d.version, -bm25(agent_document_words) AS score
         FROM agent_document_words JOIN agent_documents d ON d.id = agent_document_words.rowid
         WHERE agent_document_words MATCH ? AND (? IS NULL OR d.collection = ?) AND (d.expires_at IS NULL OR d.expires_at > ?)
         ORDER BY score DESC LIMIT ?`,
      )
      .all(ftsQuery(words), collection ?? null, collection ?? null, this.#now(), topK);
    return rows.map((row) => ({ ...rowOf(row), collection: String(row.collection), score: Number(row.score) }));
  }

  async delete(collection: string, key: string): Promise<boolean> {
    const { db } = this.#connection;
    return this.#connection.transaction(() => {
      this.#removeExpired();
      const removed = db
        .prepare('DELETE FROM agent_documents WHERE collection = ? AND key = ? RETURNING id')
        .get(collection, key);
      if (removed === undefined) return false;
      db.prepare('DELETE FROM agent_document_words WHERE rowid = ?').run(Number(removed.id));
      return true;
    });
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #removeExpired(): void {
    const { db } = this.#connection;
    const now = this.#now();
    db.prepare(
      'DELETE FROM agent_document_words WHERE rowid IN (SELECT id FROM agent_documents WHERE expires_at <= ?)',
    ).run(now);
    db.prepare('DELETE FROM agent_documents WHERE expires_at <= ?').run(now);
  }
}

function rowOf(row: Record<string, unknown>): DatabaseRow {
  return { key: String(row.key), value: parseJson(String(row.value)) as Json, version: Number(row.version) };
}

/** Names contain only letters, digits and underscores. */
function jsonPath(path: readonly string[]): string {
  return `$.${path.map((part) => `"${part}"`).join('.')}`;
}

function conditionOf(path: readonly string[], condition: FieldCondition, parameters: Parameter[]): string {
  const at = jsonPath(path);
  if (!isRange(condition)) return equals(at, condition, parameters);
  const parts: string[] = [];
  const { in: among, ...limits } = condition;
  if (among !== undefined)
    parts.push(among.length === 0 ? '0' : `(${among.map((each) => equals(at, each, parameters)).join(' OR ')})`);
  for (const [name, operator] of [
    ['gt', '>'],
    ['gte', '>='],
    ['lt', '<'],
    ['lte', '<='],
  ] as const) {
    const limit = limits[name];
    if (limit === undefined) continue;
    const types = typeof limit === 'string' ? "'text'" : "'integer', 'real'";
    parameters.push(limit);
    parts.push(`(json_type(value, '${at}') IN (${types}) AND json_extract(value, '${at}') ${operator} ?)`);
  }
  return parts.length === 0 ? `json_type(value, '${at}') IS NOT NULL` : parts.join(' AND ');
}

function equals(at: string, wanted: string | number | boolean | null, parameters: Parameter[]): string {
  if (wanted === null) return `json_type(value, '${at}') = 'null'`;
  if (typeof wanted === 'boolean') return `json_type(value, '${at}') = '${String(wanted)}'`;
  parameters.push(wanted);
  const types = typeof wanted === 'string' ? "'text'" : "'integer', 'real'";
  return `(json_type(value, '${at}') IN (${types}) AND json_extract(value, '${at}') = ?)`;
}
