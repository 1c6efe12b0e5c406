import { AgentError } from '../../core/agent-error.ts';
import { type Json, parseJson } from '../../core/json.ts';
import type {
  DatabaseClient,
  DatabaseQuery,
  DatabaseRow,
  FoundRow,
  WriteOptions,
} from '../../memory/database-client.ts';
import { inQueryOrder, limitOf, matchesWhere, searchTexts, textsOf } from '../../memory/queries.ts';
import { type ConnectedRedis, connectRedis, type RedisClientOptions } from './connection.ts';

/**
 * KEYS: the collection's documents (hash: `version:expiry:json`), its keys in order (sorted set, all scores 0). ARGV:
 * key, json, now, expiry or '', '1' if absent only, expected version or ''. Returns the version, or -1.
 */
const WRITE = `
  local kept = redis.call('HGET', KEYS[1], ARGV[1])
  local version = 0
  if kept then
    local was, expiry = string.match(kept, '^(%d+):(%d*):')
    if expiry == '' or tonumber(expiry) > tonumber(ARGV[3]) then version = tonumber(was) end
  end
  if ARGV[5] == '1' and version > 0 then return -1 end
  if ARGV[6] ~= '' and version ~= tonumber(ARGV[6]) then return -1 end
  version = version + 1
  redis.call('HSET', KEYS[1], ARGV[1], version .. ':' .. ARGV[4] .. ':' .. ARGV[2])
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
  return version
`;
/** KEYS as above. ARGV: key, now. Returns 1 if the document existed. */
const DELETE = `
  local kept = redis.call('HGET', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  if not kept then return 0 end
  local expiry = string.match(kept, '^%d+:(%d*):')
  if expiry == '' or tonumber(expiry) > tonumber(ARGV[2]) then return 1 end
  return 0
`;
const PAGE = 500;
/** Largest collection that can be sorted or searched, because that reads all of it. */
const MAX_READ_ROWS = 10_000;

/** Documents in Redis. Conditions are checked in this process; sorting and searching read a whole collection. */
export class RedisDatabaseClient implements DatabaseClient {
  readonly #connection: ConnectedRedis;

  constructor(options: RedisClientOptions) {
    this.#connection = connectRedis(options);
  }

  async write(
    collection: string,
    key: string,
    value: Json,
    options: WriteOptions = {},
  ): Promise<{ readonly version: number }> {
    const { ifAbsent = false, ifVersion, ttlMs } = options;
    const { redis, now } = this.#connection;
    const [documents, keys] = this.#keys(collection);
    await redis.sadd(this.#collections(), collection);
    const expiry = ttlMs === undefined ? '' : String(Math.ceil(now() + ttlMs));
    const version = Number(
      await redis.eval(
        WRITE,
        2,
        documents,
        keys,
        key,
        JSON.stringify(value),
        now(),
        expiry,
        ifAbsent ? '1' : '',
        ifVersion ?? '',
      ),
    );
    if (version < 0)
      throw new AgentError(
        'conflict',
        ifAbsent ? 'a document with this key already exists' : 'another writer changed the document: read it again',
      );
    return { version };
  }

  async read(collection: string, key: string): Promise<DatabaseRow | null> {
    const [documents] = this.#keys(collection);
    return this.#row(key, await this.#connection.redis.hget(documents, key));
  }

  async query(collection: string, query: DatabaseQuery = {}): Promise<DatabaseRow[]> {
    const limit = limitOf(query);
    const found: DatabaseRow[] = [];
    let read = 0;
    for await (const row of this.#rows(collection, query)) {
      read += 1;
      if (matchesWhere(row.value, query.where)) found.push(row);
      if (query.orderBy === undefined ? found.length >= limit : read > MAX_READ_ROWS) break;
    }
    if (query.orderBy !== undefined && read > MAX_READ_ROWS)
      throw new AgentError(
        'capacity',
        'the collection has too many documents to be sorted in Redis: narrow the query by prefix',
      );
    return inQueryOrder(found, query).slice(0, limit);
  }

  async search(
    text: string,
    { collection, topK = 10 }: { readonly collection?: string; readonly topK?: number } = {},
  ): Promise<FoundRow[]> {
    const names = collection === undefined ? await this.#connection.redis.smembers(this.#collections()) : [collection];
    const items: { item: DatabaseRow & { readonly collection: string }; text: string }[] = [];
    for (const name of names)
      for await (const row of this.#rows(name, {})) {
        items.push({ item: { ...row, collection: name }, text: textsOf(row.value) });
        if (items.length >= MAX_READ_ROWS) break;
      }
    return searchTexts(items, text, topK).map(({ item, score }) => ({ ...item, score }));
  }

  async delete(collection: string, key: string): Promise<boolean> {
    const { redis, now } = this.#connection;
    const [documents, keys] = this.#keys(collection);
    return Number(await redis.eval(DELETE, 2, documents, keys, key, now())) === 1;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** In key order, one page at a time. */
  async *#rows(collection: string, { prefix = '', after }: DatabaseQuery): AsyncGenerator<DatabaseRow> {
    const { redis } = this.#connection;
    const [documents, keys] = this.#keys(collection);
    let from = after !== undefined && after >= prefix ? `(${after}` : `[${prefix}`;
    for (;;) {
      const names = await redis.zrangebylex(keys, from, '+', 'LIMIT', 0, PAGE);
      const last = names.at(-1);
      if (last === undefined) return;
      const values = await redis.hmget(documents, ...names);
      for (const [index, name] of names.entries()) {
        if (!name.startsWith(prefix)) return;
        const row = this.#row(name, values[index] ?? null);
        if (row !== null) yield row;
      }
      from = `(${last}`;
    }
  }

  #row(key: string, kept: string | null): DatabaseRow | null {
    const parts = /^(\d+):(\d*):([\s\S]*)$/.exec(kept ?? '');
    if (parts === null) return null;
    const [, version, expiry, json] = parts;
    if (expiry !== undefined && expiry !== '' && Number(expiry) <= this.#connection.now()) return null;
    return { key, value: parseJson(json ?? 'null') as Json, version: Number(version) };
  }

  #keys(collection: string): readonly [string, string] {
    const base = `${this.#connection.prefix}:database:{${collection}}`;
    return [`${base}:documents`, `${base}:keys`];
  }

  #collections(): string {
    return `${this.#connection.prefix}:database-collections`;
  }
}
