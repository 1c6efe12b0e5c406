import { systemCode } from '../../core/agent-error.ts';
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
import { textsOf, wordsOf } from '../../memory/queries.ts';
import { type PostgresClientOptions, PostgresConnection, textQuery, withoutZeros } from './connection.ts';

const UNIQUE_VIOLATION = '23505';
const ALIVE = '(expires_at IS NULL OR expires_at > ';

/** Streams in Postgres, in the schema `agentlens_agent`. */
export class PostgresMemoryClient implements MemoryClient {
  readonly #connection: PostgresConnection;
  readonly #now: () => number;

  constructor(options: PostgresClientOptions) {
    this.#connection = new PostgresConnection(options);
    this.#now = options.now ?? Date.now;
  }

  async append(streamKey: string, entry: Json, options: AppendMemory = {}): Promise<{ readonly seq: number }> {
    const { ttlMs, idempotencyKey, seq: wanted } = options;
    await this.#connection.query('DELETE FROM agentlens_agent.memory WHERE expires_at <= $1', [this.#now()]);
    const before = idempotencyKey === undefined ? undefined : await this.#numberOf(streamKey, idempotencyKey);
    if (before !== undefined) return { seq: before };
    try {
      // The stream's row stays locked until the entry is inserted, so that numbers are unique and in order.
      const { rows } = await this.#connection.query(
        `WITH next AS (
           INSERT INTO agentlens_agent.streams VALUES ($1, 1)
           ON CONFLICT (stream_key) DO UPDATE SET last_seq = streams.last_seq + 1
             WHERE $6::bigint IS NULL OR streams.last_seq + 1 = $6 RETURNING last_seq
         )
         INSERT INTO agentlens_agent.memory (stream_key, seq, entry, words, idempotency_key, expires_at)
         SELECT $1, last_seq, $2, to_tsvector('simple', $3), $4, $5 FROM next RETURNING seq`,
        [
          streamKey,
          JSON.stringify(entry),
          withoutZeros(textsOf(entry)),
          idempotencyKey ?? null,
          ttlMs === undefined ? null : this.#now() + ttlMs,
          wanted ?? null,
        ],
      );
      if (rows[0] === undefined) throw numberTaken(await this.#nextNumber(streamKey));
      return { seq: Number(rows[0].seq) };
    } catch (error) {
      const seq =
        systemCode(error) === UNIQUE_VIOLATION && idempotencyKey !== undefined
          ? await this.#numberOf(streamKey, idempotencyKey)
          : undefined;
      if (seq === undefined) throw error;
      return { seq };
    }
  }

  async read(streamKey: string, { after = 0, last }: ReadMemory = {}): Promise<MemoryEntry[]> {
    const { rows } = await this.#connection.query(
      `SELECT seq, entry FROM agentlens_agent.memory WHERE stream_key = $1 AND seq > $2 AND ${ALIVE}$3)
       ORDER BY seq DESC LIMIT $4`,
      [streamKey, after, this.#now(), last ?? null],
    );
    return rows.reverse().map(({ seq, entry }) => ({ seq: Number(seq), entry: parseJson(String(entry)) as Json }));
  }

  async search(query: string, { streamKey, topK = 10, minScore = 0 }: SearchMemory = {}): Promise<FoundMemory[]> {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    const { rows } = await this.#connection.query(
      `SELECT stream_key, seq, entry, ts_rank_cd(words, query, 1) AS score
       FROM agentlens_agent.memory, to_tsquery('simple', $1) AS query
       WHERE words @@ query AND ($2::text IS NULL OR stream_key = $2) AND ${ALIVE}$3)
       ORDER BY score DESC, stream_key, seq LIMIT $4`,
      [textQuery(words), streamKey ?? null, this.#now(), topK],
    );
    return rows
      .map((row) => ({
        streamKey: String(row.stream_key),
        seq: Number(row.seq),
        entry: parseJson(String(row.entry)) as Json,
        score: Number(row.score),
      }))
      .filter(({ score }) => score >= minScore);
  }

  async clear(streamKey: string): Promise<void> {
    await this.#connection.query('DELETE FROM agentlens_agent.memory WHERE stream_key = $1', [streamKey]);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #nextNumber(streamKey: string): Promise<number> {
    const { rows } = await this.#connection.query(
      'SELECT last_seq FROM agentlens_agent.streams WHERE stream_key = $1',
      [streamKey],
    );
    return Number(rows[0]?.last_seq ?? 0) + 1;
  }

  async #numberOf(streamKey: string, idempotencyKey: string): Promise<number | undefined> {
    const { rows } = await this.#connection.query(
      'SELECT seq FROM agentlens_agent.memory WHERE stream_key = $1 AND idempotency_key = $2',
      [...[streamKey, idempotencyKey]],
    );
    return rows[0] === undefined ? undefined : Number(rows[0].seq);
  }
}
