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
import { ftsQuery, SqliteConnection, type SqliteOptions } from './connection.ts';

/** Streams in one SQLite file. */
export class SqliteMemoryClient implements MemoryClient {
  readonly #connection: SqliteConnection;
  readonly #now: () => number;

  constructor({ path, now = Date.now }: SqliteOptions) {
    this.#connection = new SqliteConnection(path);
    this.#now = now;
  }

  async append(
    streamKey: string,
    entry: Json,
    { ttlMs, idempotencyKey, seq: wanted }: AppendMemory = {},
  ): Promise<{ readonly seq: number }> {
    const { db } = this.#connection;
    return this.#connection.transaction(() => {
      this.#removeExpired();
      if (idempotencyKey !== undefined) {
        const before = db
          .prepare('SELECT seq FROM agent_memory WHERE stream_key = ? AND idempotency_key = ?')
          .get(streamKey, idempotencyKey);
        if (before !== undefined) return { seq: Number(before.seq) };
      }
      const next = db
        .prepare(
          'INSERT INTO agent_streams VALUES (?, 1) ON CONFLICT DO UPDATE SET last_seq = last_seq + 1 RETURNING last_seq',
        )
        .get(streamKey);
      const seq = Number(next?.last_seq);
      // Rolls back the transaction.
      if (wanted !== undefined && wanted !== seq) throw numberTaken(seq);
      const { lastInsertRowid } = db
        .prepare(
          'INSERT INTO agent_memory (stream_key, seq, entry, idempotency_key, expires_at) VALUES (?, ?, ?, ?, ?)',
        )
        .run(
          streamKey,
          seq,
          JSON.stringify(entry),
          idempotencyKey ?? null,
          ttlMs === undefined ? null : this.#now() + ttlMs,
        );
      db.prepare('INSERT INTO agent_memory_words (rowid, words) VALUES (?, ?)').run(lastInsertRowid, textsOf(entry));
      return { seq };
    });
  }

  async read(streamKey: string, { after = 0, last = -1 }: ReadMemory = {}): Promise<MemoryEntry[]> {
    const rows = this.#connection.db
      .prepare(
        `SELECT seq, entry FROM agent_memory WHERE stream_key = ? AND seq > ? AND (expires_at IS NULL OR expires_at > ?)
         ORDER BY seq DESC LIMIT ?`,
      )
      .all(streamKey, after, this.#now(), last);
    return rows.reverse().map(({ seq, entry }) => ({ seq: Number(seq), entry: parseJson(String(entry)) as Json }));
  }

  async search(query: string, { streamKey, topK = 10, minScore = 0 }: SearchMemory = {}): Promise<FoundMemory[]> {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    const rows = this.#connection.db
      .prepare(
        `SELECT m.stream_key, m.seq, m.entry, -bm25(agent_memory_words) AS score
         FROM agent_memory_words JOIN agent_memory m ON m.id = agent_memory_words.rowid
         WHERE agent_memory_words MATCH ? AND (? IS NULL OR m.stream_key = ?) AND (m.expires_at IS NULL OR m.expires_at > ?)
         ORDER BY score DESC LIMIT ?`,
      )
      .all(ftsQuery(words), streamKey ?? null, streamKey ?? null, this.#now(), topK);
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
    const { db } = this.#connection;
    this.#connection.transaction(() => {
      db.prepare(
        'DELETE FROM agent_memory_words WHERE rowid IN (SELECT id FROM agent_memory WHERE stream_key = ?)',
      ).run(streamKey);
      db.prepare('DELETE FROM agent_memory WHERE stream_key = ?').run(streamKey);
    });
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  #removeExpired(): void {
    const { db } = this.#connection;
    const now = this.#now();
    db.prepare('DELETE FROM agent_memory_words WHERE rowid IN (SELECT id FROM agent_memory WHERE expires_at <= ?)').run(
      now,
    );
    db.prepare('DELETE FROM agent_memory WHERE expires_at <= ?').run(now);
  }
}
