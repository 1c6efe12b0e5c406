import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json } from '../core/json.ts';
import type { EntryBody, SessionEntry, SessionMetadata, SessionStore } from '../session/session-store.ts';
import { type KeyProvider, Sealer } from './sealed.ts';

/**
 * Encrypts the journal and the metadata of sessions. Ids, lineage and times stay readable, for lists. Each entry is
 * bound to its session and position; the count in the metadata detects a truncated end.
 */
export function encryptedSessions(store: SessionStore, keys: KeyProvider): SessionStore {
  const sealer = new Sealer(keys);
  return {
    create: async (meta) => store.create(await sealMetadata(sealer, meta)),
    append: async (id, entries, options) =>
      store.append(id, await Promise.all(entries.map((entry) => sealEntry(sealer, id, entry))), options),
    async load(id) {
      const stored = await store.load(id);
      const meta = await openMetadata(sealer, stored.meta);
      if (stored.entries.length < meta.entry_count)
        throw new AgentError('session_corrupt', `the history of ${id} was cut off: entries are missing`);
      const entries: SessionEntry[] = [];
      for (const entry of stored.entries) entries.push(await openEntry(sealer, id, entry));
      return { ...stored, meta, entries };
    },
    saveMetadata: async (meta) => store.saveMetadata(await sealMetadata(sealer, meta)),
    list: (filter) => store.list(filter),
    delete: (id) => store.delete(id),
    acquire: (id, owner) => store.acquire(id, owner),
  };
}

async function sealEntry(sealer: Sealer, id: string, { v, seq, at, ...body }: SessionEntry): Promise<SessionEntry> {
  const sealed = await sealer.seal(body as unknown as Json, id, ['session', id, seq]);
  // Stores keep lines unchanged; only this code reads them.
  return { v, seq, at, type: 'sealed', sealed } as unknown as SessionEntry;
}

async function openEntry(sealer: Sealer, id: string, entry: SessionEntry): Promise<SessionEntry> {
  const { v, seq, at } = entry;
  const sealed: unknown = 'sealed' in entry ? entry.sealed : undefined;
  const body = (await sealer.open(sealed, ['session', id, seq])) as unknown as EntryBody;
  return { v, seq, at, ...body };
}

async function sealMetadata(sealer: Sealer, meta: SessionMetadata): Promise<SessionMetadata> {
  const { session_id: id, entry_count, metadata } = meta;
  const sealed = await sealer.seal({ entry_count, metadata }, id, ['session-metadata', id]);
  return { ...meta, entry_count: 0, metadata: { sealed } };
}

async function openMetadata(sealer: Sealer, meta: SessionMetadata): Promise<SessionMetadata> {
  const opened = await sealer.open(meta.metadata.sealed, ['session-metadata', meta.session_id]);
  if (!isPlainObject(opened)) throw new AgentError('decrypt_failed', 'the metadata is not an object');
  // Sealed above with these two.
  const { entry_count, metadata } = opened as Pick<SessionMetadata, 'entry_count' | 'metadata'>;
  return { ...meta, entry_count, metadata };
}
