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
import { type PostgresClientOptions, PostgresConnection, textQuery, withoutZeros } from './connection.ts';

const ALIVE = '(expires_at IS NULL OR expires_at > ';
const OPERATORS = [
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
] as const;

/** Documents in Postgres, in the schema `agentlens_agent`. */
export class PostgresDatabaseClient implements DatabaseClient {
  readonly #connection: PostgresConnection;
  readonly #now: () => number;

  constructor(options: PostgresClientOptions) {
    this.#connection = new PostgresConnection(options);
    this.#now = options.now ?? Date.now;
  }

  write(
    collection: string,
    key: string,
    value: Json,
    options: WriteOptions = {},
  ): Promise<{ readonly version: number }> {
    const { ifAbsent = false, ifVersion, ttlMs } = options;
    return this.#connection.transaction(async (client) => {
      // Serialises writers of one key, even if there is no row to lock yet.
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [`${collection}/${key}`]);
      await client.query(
        'DELETE FROM agentlens_agent.documents WHERE collection = $1 AND key = $2 AND expires_at <= $3',
        [collection, key, this.#now()],
      );
      const { rows } = await client.query<{ version: string }>(
        'SELECT version FROM agentlens_agent.documents WHERE collection = $1 AND key = $2',
        [collection, key],
      );
      const before = rows[0] === undefined ? undefined : Number(rows[0].version);
      checkVersion(before, ifAbsent, ifVersion);
      const version = (before ?? 0) + 1;
      await client.query(
        `INSERT INTO agentlens_agent.documents (collection, key, value, doc, words, version, expires_at)
         VALUES ($1, $2, $3, $4, to_tsvector('simple', $5), $6, $7)
         ON CONFLICT (collection, key) DO UPDATE
         SET value = excluded.value, doc = excluded.doc, words = excluded.words, version = excluded.version, expires_at = excluded.expires_at`,
        [
          collection,
          key,
          JSON.stringify(value),
          queryable(value),
          withoutZeros(textsOf(value)),
          version,
          ttlMs === undefined ? null : this.#now() + ttlMs,
        ],
      );
      return { version };
    });
  }

  async read(collection: string, key: string): Promise<DatabaseRow | null> {
    const { rows } = await this.#connection.query(
      `SELECT key, value, version FROM agentlens_agent.documents WHERE collection = $1 AND key = $2 AND ${ALIVE}$3)`,
      [collection, key, this.#now()],
    );
    return rows[0] === undefined ? null : rowOf(rows[0]);
  }

  async query(collection: string, query: DatabaseQuery = {}): Promise<DatabaseRow[]> {
    const { prefix, after, where = {}, orderBy } = query;
    const values: unknown[] = [collection, this.#now()];
    const add = (value: unknown) => `$${values.push(value)}`;
    const conditions = ['collection = $1', `${ALIVE}$2)`];
    if (prefix !== undefined && prefix !== '') conditions.push(`starts_with(key, ${add(prefix)})`);
    if (after !== undefined) conditions.push(`key > ${add(after)}`);
    for (const [field, condition] of Object.entries(where))
      conditions.push(conditionOf(add(pathOf(field)), condition, add));
    let order = 'key';
    if (orderBy !== undefined) {
      const path = add(pathOf(orderBy.field));
      const direction = orderBy.descending === true ? 'DESC' : 'ASC';
      order = `doc #> ${path}::text[] IS NULL, ${numberAt(path)} ${direction} NULLS LAST, (doc #>> ${path}::text[]) COLLATE "C" ${direction}, key`;
    }
    const { rows } = await this.#connection.query(
      `SELECT key, value, version FROM agentlens_agent.documents WHERE ${conditions.join(' AND ')} ORDER BY ${order} LIMIT ${add(limitOf(query))}`,
      values,
    );
    return rows.map(rowOf);
  }

  async search(
    text: string,
    { collection, topK = 10 }: { readonly collection?: string; readonly topK?: number } = {},
  ): Promise<FoundRow[]> {
    const words = wordsOf(text);
    if (words.length === 0) return [];
    const { rows } = await this.#connection.query(
      `SELECT collection, key, value, version, ts_rank_cd(words, query, 1) AS score
       FROM agentlens_agent.documents, to_tsquery('simple', $1) AS query
       WHERE words @@ query AND ($2::text IS NULL OR collection = $2) AND ${ALIVE}$3)
       ORDER BY score DESC, collection, key LIMIT $4`,
      [textQuery(words), collection ?? null, this.#now(), topK],
    );
    return rows.map((row) => ({ ...rowOf(row), collection: String(row.collection), score: Number(row.score) }));
  }

  async delete(collection: string, key: string): Promise<boolean> {
    const { rows } = await this.#connection.query(
      `DELETE FROM agentlens_agent.documents WHERE collection = $1 AND key = $2 RETURNING ${ALIVE}$3) AS alive`,
      [collection, key, this.#now()],
    );
    return rows[0]?.alive === true;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

function rowOf(row: Record<string, unknown>): DatabaseRow {
  return { key: String(row.key), value: parseJson(String(row.value)) as Json, version: Number(row.version) };
}

/** The searchable form of a value; reads return the text that was written. */
function queryable(value: Json): string {
  return JSON.stringify(value, (_key, member: unknown) => (typeof member === 'string' ? withoutZeros(member) : member));
}

/** Null if it is not a number; a cast would fail. */
function numberAt(path: string): string {
  return `(CASE WHEN jsonb_typeof(doc #> ${path}::text[]) = 'number' THEN (doc #>> ${path}::text[])::numeric END)`;
}

function conditionOf(path: string, condition: FieldCondition, add: (value: unknown) => string): string {
  const equals = (wanted: unknown) => `doc #> ${path}::text[] = ${add(JSON.stringify(wanted))}::jsonb`;
  if (!isRange(condition)) return equals(condition);
  const parts: string[] = [];
  if (condition.in !== undefined)
    parts.push(condition.in.length === 0 ? `${path}::text[] IS NULL` : `(${condition.in.map(equals).join(' OR ')})`);
  for (const [name, operator] of OPERATORS) {
    const limit = condition[name];
    if (typeof limit === 'number') parts.push(`${numberAt(path)} ${operator} ${add(limit)}::numeric`);
    if (typeof limit === 'string')
      parts.push(
        `(jsonb_typeof(doc #> ${path}::text[]) = 'string' AND (doc #>> ${path}::text[]) COLLATE "C" ${operator} ${add(limit)})`,
      );
  }
  return parts.length === 0 ? `doc #> ${path}::text[] IS NOT NULL` : parts.join(' AND ');
}
