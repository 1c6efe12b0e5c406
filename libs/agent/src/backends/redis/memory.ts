import { type Json, parseJson } from '../../core/json.ts';
import {
  type AppendMemory,
  type FoundMemory,
  type MemoryClient,
  type MemoryEntry,
  numberTaken,
  type ReadMemory,
  type SearchMemory,
} from '../../memory/memory-client.ts';
import { searchTexts, textsOf } from '../../memory/queries.ts';
import { type ConnectedRedis, connectRedis, type RedisClientOptions } from './connection.ts';

/**
 * KEYS: the stream's last number, its entries (sorted set by number), its idempotency keys (hash), its expiries (sorted
 * set of numbers by time). ARGV: now, entry, expiry or '', idempotency key or '', expected number or ''. Returns the
 * entry's number, or the negative of the next one if it is not the expected one.
 */
const APPEND = `
  for _, seq in ipairs(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', ARGV[1])) do
    redis.call('ZREMRANGEBYSCORE', KEYS[2], seq, seq)
    redis.call('ZREM', KEYS[4], seq)
  end
  if ARGV[4] ~= '' then
    local before = redis.call('HGET', KEYS[3], ARGV[4])
    if before then return tonumber(before) end
  end
  local next = tonumber(redis.call('GET', KEYS[1]) or '0') + 1
  if ARGV[5] ~= '' and tonumber(ARGV[5]) ~= next then return -next end
  local seq = redis.call('INCR', KEYS[1])
  redis.call('ZADD', KEYS[2], seq, seq .. ':' .. ARGV[2])
  if ARGV[3] ~= '' then redis.call('ZADD', KEYS[4], ARGV[3], seq) end
  if ARGV[4] ~= '' then redis.call('HSET', KEYS[3], ARGV[4], seq) end
  return seq
`;
const MAX_SEARCHED_ENTRIES = 10_000;

/** Streams in Redis. A search ranks the newest 10 000 entries of a stream in this process; it needs no Redis module. */
export class RedisMemoryClient implements MemoryClient {
  readonly #connection: ConnectedRedis;

  constructor(options: RedisClientOptions) {
    this.#connection = connectRedis(options);
  }

  async append(
    streamKey: string,
    entry: Json,
    { ttlMs, idempotencyKey = '', seq: wanted }: AppendMemory = {},
  ): Promise<{ readonly seq: number }> {
    const { redis, now } = this.#connection;
    const expiry = ttlMs === undefined ? '' : String(now() + ttlMs);
    await redis.sadd(this.#streams(), streamKey);
    const keys = ['seq', 'entries', 'keys', 'expiry'].map((part) => this.#key(streamKey, part));
    const args = [now(), JSON.stringify(entry), expiry, idempotencyKey, wanted ?? ''];
    const seq = Number(await redis.eval(APPEND, keys.length, ...keys, ...args));
    if (seq < 0) throw numberTaken(-seq);
    return { seq };
  }

  async read(streamKey: string, { after = 0, last }: ReadMemory = {}): Promise<MemoryEntry[]> {
    const { redis, now } = this.#connection;
    const [rows, expired] = await Promise.all([
      last === undefined
        ? redis.zrangebyscore(this.#key(streamKey, 'entries'), `(${after}`, '+inf')
        : redis.zrevrangebyscore(this.#key(streamKey, 'entries'), '+inf', `(${after}`),
      redis.zrangebyscore(this.#key(streamKey, 'expiry'), '-inf', now()),
    ]);
    const gone = new Set(expired.map(Number));
    const alive = rows.map(entryOf).filter(({ seq }) => !gone.has(seq));
    return last === undefined ? alive : alive.slice(0, last).reverse();
  }

  async search(query: string, { streamKey, topK = 10, minScore = 0 }: SearchMemory = {}): Promise<FoundMemory[]> {
    const streams = streamKey === undefined ? await this.#connection.redis.smembers(this.#streams()) : [streamKey];
    const read = await Promise.all(
      streams.map(async (key) => ({ key, entries: await this.read(key, { last: MAX_SEARCHED_ENTRIES }) })),
    );
    const items = read.flatMap(({ key, entries }) =>
      entries.map((entry) => ({ item: { ...entry, streamKey: key }, text: textsOf(entry.entry) })),
    );
    return searchTexts(items, query, topK)
      .filter(({ score }) => score >= minScore)
      .map(({ item, score }) => ({ ...item, score }));
  }

  async clear(streamKey: string): Promise<void> {
    // The last number stays: numbers are never reused.
    await this.#connection.redis.del(...['entries', 'keys', 'expiry'].map((part) => this.#key(streamKey, part)));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #key(streamKey: string, part: string): string {
    return `${this.#connection.prefix}:memory:{${streamKey}}:${part}`;
  }

  #streams(): string {
    return `${this.#connection.prefix}:memory-streams`;
  }
}

function entryOf(row: string): MemoryEntry {
  const colon = row.indexOf(':');
  return { seq: Number(row.slice(0, colon)), entry: parseJson(row.slice(colon + 1)) as Json };
}
