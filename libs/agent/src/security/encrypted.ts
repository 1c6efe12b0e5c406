import type { Json } from '../core/json.ts';
import type { DatabaseClient, DatabaseQuery, DatabaseRow } from '../memory/database-client.ts';
import { type AppendMemory, type MemoryClient, nextNumberOf } from '../memory/memory-client.ts';
import { inQueryOrder, limitOf, matchesWhere, searchTexts, textsOf } from '../memory/queries.ts';
import type { SessionStore } from '../session/session-store.ts';
import { encryptedSessions } from './encrypted-session-store.ts';
import { type KeyProvider, Sealer } from './sealed.ts';

/** A store with content encrypted at rest: sessions, memory or documents. */
export function encrypted(store: SessionStore, keys: KeyProvider): SessionStore;
export function encrypted(store: MemoryClient, keys: KeyProvider): MemoryClient;
export function encrypted(store: DatabaseClient, keys: KeyProvider): DatabaseClient;
export function encrypted(
  store: SessionStore | MemoryClient | DatabaseClient,
  keys: KeyProvider,
): SessionStore | MemoryClient | DatabaseClient {
  if ('acquire' in store) return encryptedSessions(store, keys);
  return 'append' in store ? encryptedMemory(store, keys) : encryptedDatabase(store, keys);
}

const MAX_SEARCHED_ENTRIES = 10_000;
const PAGE = 1_000;
/** Streams whose next number is cached; for others the store provides it. */
const MAX_STREAMS = 1_000;

/**
 * Encrypts entries. Each is bound to its stream and its number. Searching decrypts the newest 10 000 entries of one
 * stream.
 */
function encryptedMemory(client: MemoryClient, keys: KeyProvider): MemoryClient {
  const sealer = new Sealer(keys);
  const numbered = numberedAppends();
  const read: MemoryClient['read'] = async (streamKey, options) => {
    const rows = await client.read(streamKey, options);
    return Promise.all(
      rows.map(async ({ seq, entry }) => ({ seq, entry: await sealer.open(entry, ['memory', streamKey, seq]) })),
    );
  };
  const clear = client.clear?.bind(client);
  const close = client.close?.bind(client);
  return {
    append: (streamKey, entry, options) =>
      numbered(streamKey, options, async (seq) =>
        client.append(streamKey, await sealer.seal(entry, streamKey, ['memory', streamKey, seq]), { ...options, seq }),
      ),
    read,
    async search(query, { streamKey, topK = 10, minScore = 0 } = {}) {
      // Without a stream there is nothing to decrypt: the inner store sees no words.
      if (streamKey === undefined) return [];
      const entries = await read(streamKey, { last: MAX_SEARCHED_ENTRIES });
      const items = entries.map((entry) => ({ item: { ...entry, streamKey }, text: textsOf(entry.entry) }));
      return searchTexts(items, query, topK)
        .filter(({ score }) => score >= minScore)
        .map(({ item, score }) => ({ ...item, score }));
    },
    ...(clear === undefined ? {} : { clear }),
    ...(close === undefined ? {} : { close }),
  };
}

/**
 * An entry is sealed with its number, so the number must be known before the append. Appends of one stream are
 * serialised; if another process was first, the store returns the next number.
 */
function numberedAppends() {
  const nexts = new Map<string, number>();
  const lines = new Map<string, Promise<unknown>>();
  const inTurn = async <T>(streamKey: string, run: () => Promise<T>): Promise<T> => {
    const before = lines.get(streamKey) ?? Promise.resolve();
    const mine = before.then(run, run);
    lines.set(streamKey, mine);
    try {
      return await mine;
    } finally {
      if (lines.get(streamKey) === mine) lines.delete(streamKey);
    }
  };
  return (
    streamKey: string,
    options: AppendMemory | undefined,
    append: (seq: number) => Promise<{ readonly seq: number }>,
  ): Promise<{ readonly seq: number }> =>
    inTurn(streamKey, async () => {
      let next = options?.seq ?? nexts.get(streamKey) ?? 1;
      for (;;) {
        try {
          const { seq } = await append(next);
          if (nexts.size >= MAX_STREAMS) nexts.clear();
          // An append with a known idempotency key returns an old number.
          if (seq === next) nexts.set(streamKey, seq + 1);
          return { seq };
        } catch (error) {
          const free = options?.seq === undefined ? nextNumberOf(error) : undefined;
          if (free === undefined) throw error;
          next = free;
        }
      }
    });
}

/** Encrypts documents. Each is bound to its collection and key. Conditions and searches decrypt in this process. */
function encryptedDatabase(client: DatabaseClient, keys: KeyProvider): DatabaseClient {
  const sealer = new Sealer(keys);
  const opened = async (collection: string, row: DatabaseRow): Promise<DatabaseRow> => ({
    ...row,
    value: await sealer.open(row.value, ['database', collection, row.key]),
  });
  const all = async (collection: string, { prefix, after }: DatabaseQuery): Promise<DatabaseRow[]> => {
    const rows: DatabaseRow[] = [];
    let from = after;
    while (rows.length < MAX_SEARCHED_ENTRIES) {
      const page = await client.query(collection, {
        limit: PAGE,
        ...(prefix === undefined ? {} : { prefix }),
        ...(from === undefined ? {} : { after: from }),
      });
      for (const row of page) rows.push(await opened(collection, row));
      from = page.at(-1)?.key;
      if (page.length < PAGE) break;
    }
    return rows;
  };
  const remove = client.delete?.bind(client);
  const close = client.close?.bind(client);
  return {
    write: async (collection, key, value, options) =>
      client.write(collection, key, await sealer.seal(value, collection, ['database', collection, key]), options),
    async read(collection, key) {
      const row = await client.read(collection, key);
      return row === null ? null : opened(collection, row);
    },
    async query(collection, query = {}) {
      const rows = (await all(collection, query)).filter(({ value }) => matchesWhere(value, query.where));
      return inQueryOrder(rows, query).slice(0, limitOf(query));
    },
    async search(text, { collection, topK = 10 } = {}) {
      if (collection === undefined) return [];
      const items = (await all(collection, {})).map((row) => ({
        item: { ...row, collection },
        text: textsOf(row.value as Json),
      }));
      return searchTexts(items, text, topK).map(({ item, score }) => ({ ...item, score }));
    },
    ...(remove === undefined ? {} : { delete: remove }),
    ...(close === undefined ? {} : { close }),
  };
}
