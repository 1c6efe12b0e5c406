import { AgentError } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';
import type { DatabaseClient, DatabaseQuery, DatabaseRow, FoundRow, WriteOptions } from './database-client.ts';
import type { ClockOption } from './in-memory-memory-client.ts';
import { inQueryOrder, limitOf, matchesWhere, searchTexts, textsOf } from './queries.ts';

interface Kept {
  readonly value: Json;
  readonly version: number;
  readonly expiresAt: number;
}

/** In-process documents. */
export class InMemoryDatabaseClient implements DatabaseClient {
  readonly #collections = new Map<string, Map<string, Kept>>();
  readonly #now: () => number;

  constructor({ now = Date.now }: ClockOption = {}) {
    this.#now = now;
  }

  async write(
    collection: string,
    key: string,
    value: Json,
    options: WriteOptions = {},
  ): Promise<{ readonly version: number }> {
    const { ifAbsent = false, ifVersion, ttlMs } = options;
    const before = this.#live(collection, key);
    checkVersion(before?.version, ifAbsent, ifVersion);
    const version = (before?.version ?? 0) + 1;
    const expiresAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : this.#now() + ttlMs;
    const documents = this.#collections.get(collection) ?? new Map<string, Kept>();
    this.#collections.set(collection, documents.set(key, { value: structuredClone(value), version, expiresAt }));
    return { version };
  }

  async read(collection: string, key: string): Promise<DatabaseRow | null> {
    const kept = this.#live(collection, key);
    return kept === undefined ? null : { key, value: kept.value, version: kept.version };
  }

  async query(collection: string, query: DatabaseQuery = {}): Promise<DatabaseRow[]> {
    const { prefix = '', after, where } = query;
    const rows = this.#rows(collection).filter(
      ({ key, value }) => key.startsWith(prefix) && (after === undefined || key > after) && matchesWhere(value, where),
    );
    return inQueryOrder(rows, query).slice(0, limitOf(query));
  }

  async search(
    text: string,
    { collection, topK = 10 }: { readonly collection?: string; readonly topK?: number } = {},
  ): Promise<FoundRow[]> {
    const names = collection === undefined ? [...this.#collections.keys()] : [collection];
    const items = names.flatMap((name) =>
      this.#rows(name).map((row) => ({ item: { ...row, collection: name }, text: textsOf(row.value) })),
    );
    return searchTexts(items, text, topK).map(({ item, score }) => ({ ...item, score }));
  }

  async delete(collection: string, key: string): Promise<boolean> {
    const had = this.#live(collection, key) !== undefined;
    this.#collections.get(collection)?.delete(key);
    return had;
  }

  #rows(collection: string): DatabaseRow[] {
    return [...(this.#collections.get(collection)?.keys() ?? [])].flatMap((key) => {
      const kept = this.#live(collection, key);
      return kept === undefined ? [] : [{ key, value: kept.value, version: kept.version }];
    });
  }

  #live(collection: string, key: string): Kept | undefined {
    const kept = this.#collections.get(collection)?.get(key);
    if (kept === undefined || kept.expiresAt > this.#now()) return kept;
    this.#collections.get(collection)?.delete(key);
    return undefined;
  }
}

/** @throws AgentError `conflict` */
export function checkVersion(current: number | undefined, ifAbsent: boolean, ifVersion: number | undefined): void {
  if (ifAbsent && current !== undefined) throw new AgentError('conflict', 'a document with this key already exists');
  if (ifVersion !== undefined && current !== ifVersion)
    throw new AgentError('conflict', 'another writer changed the document: read it again');
}
