import type { Json } from '../core/json.ts';
import {
  type AppendMemory,
  type FoundMemory,
  type MemoryClient,
  type MemoryEntry,
  numberTaken,
  type ReadMemory,
  type SearchMemory,
} from './memory-client.ts';
import { searchTexts, textsOf } from './queries.ts';

interface Kept extends MemoryEntry {
  readonly expiresAt: number;
}

interface Stream {
  lastSeq: number;
  entries: Kept[];
  readonly keys: Map<string, number>;
}

export interface ClockOption {
  /** Unix ms; used for expiry. */
  readonly now?: () => number;
}

/** In-process streams. */
export class InMemoryMemoryClient implements MemoryClient {
  readonly #streams = new Map<string, Stream>();
  readonly #now: () => number;

  constructor({ now = Date.now }: ClockOption = {}) {
    this.#now = now;
  }

  async append(
    streamKey: string,
    entry: Json,
    { ttlMs, idempotencyKey, seq: wanted }: AppendMemory = {},
  ): Promise<{ readonly seq: number }> {
    const stream = this.#stream(streamKey);
    const before = idempotencyKey === undefined ? undefined : stream.keys.get(idempotencyKey);
    if (before !== undefined) return { seq: before };
    const seq = stream.lastSeq + 1;
    if (wanted !== undefined && wanted !== seq) throw numberTaken(seq);
    stream.lastSeq = seq;
    stream.entries.push({
      seq,
      entry: structuredClone(entry),
      expiresAt: ttlMs === undefined ? Number.POSITIVE_INFINITY : this.#now() + ttlMs,
    });
    if (idempotencyKey !== undefined) stream.keys.set(idempotencyKey, seq);
    return { seq };
  }

  async read(streamKey: string, { after = 0, last }: ReadMemory = {}): Promise<MemoryEntry[]> {
    const entries = this.#live(streamKey).filter(({ seq }) => seq > after);
    return (last === undefined ? entries : entries.slice(Math.max(0, entries.length - last))).map(({ seq, entry }) => ({
      seq,
      entry,
    }));
  }

  async search(query: string, { streamKey, topK = 10, minScore = 0 }: SearchMemory = {}): Promise<FoundMemory[]> {
    const streams = streamKey === undefined ? [...this.#streams.keys()] : [streamKey];
    const items = streams.flatMap((key) =>
      this.#live(key).map(({ seq, entry }) => ({ item: { streamKey: key, seq, entry }, text: textsOf(entry) })),
    );
    return searchTexts(items, query, topK)
      .filter(({ score }) => score >= minScore)
      .map(({ item, score }) => ({ ...item, score }));
  }

  async clear(streamKey: string): Promise<void> {
    const stream = this.#streams.get(streamKey);
    // Numbers are never reused.
    if (stream !== undefined) stream.entries = [];
  }

  #live(streamKey: string): readonly Kept[] {
    const stream = this.#streams.get(streamKey);
    if (stream === undefined) return [];
    const now = this.#now();
    stream.entries = stream.entries.filter(({ expiresAt }) => expiresAt > now);
    return stream.entries;
  }

  #stream(key: string): Stream {
    const known = this.#streams.get(key);
    if (known !== undefined) return known;
    const made: Stream = { lastSeq: 0, entries: [], keys: new Map() };
    this.#streams.set(key, made);
    return made;
  }
}
