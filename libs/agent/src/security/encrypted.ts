import type { DatabaseClient } from '../memory/database-client.ts';
import type { MemoryClient } from '../memory/memory-client.ts';
import type { SessionStore } from '../session/session-store.ts';
import { encryptedDatabase, encryptedMemory } from './encrypted-memory.ts';
import { encryptedSessions } from './encrypted-session-store.ts';
import type { KeyProvider } from './key-provider.ts';

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
