import { AgentError } from '../core/agent-error.ts';
import {
  type AppendOptions,
  byAge,
  matchesFilter,
  type SessionEntry,
  type SessionFilter,
  type SessionLease,
  type SessionMetadata,
  type SessionStore,
  type StoredSession,
} from './session-store.ts';

interface Kept {
  meta: SessionMetadata;
  readonly entries: SessionEntry[];
  owner: string | null;
}

/** In-process sessions, lost when the process ends. */
export class MemorySessionStore implements SessionStore {
  readonly #sessions = new Map<string, Kept>();

  async create(meta: SessionMetadata): Promise<void> {
    if (this.#sessions.has(meta.session_id)) throw new AgentError('conflict', 'the session exists already');
    this.#sessions.set(meta.session_id, { meta, entries: [], owner: null });
  }

  async append(id: string, entries: readonly SessionEntry[], _options?: AppendOptions): Promise<void> {
    this.#kept(id).entries.push(...entries);
  }

  async load(id: string): Promise<StoredSession> {
    const { meta, entries } = this.#kept(id);
    return { meta, entries: [...entries], torn: false };
  }

  async saveMetadata(meta: SessionMetadata): Promise<void> {
    this.#kept(meta.session_id).meta = meta;
  }

  async list(filter?: SessionFilter): Promise<string[]> {
    const metas = [...this.#sessions.values()].map(({ meta }) => meta);
    return metas
      .filter((meta) => matchesFilter(meta, filter))
      .sort(byAge)
      .map((meta) => meta.session_id);
  }

  async delete(id: string): Promise<void> {
    this.#sessions.delete(id);
  }

  async acquire(id: string, owner: string): Promise<SessionLease> {
    const kept = this.#kept(id);
    if (kept.owner !== null) throw new AgentError('session_busy', 'the session is in use');
    kept.owner = owner;
    return {
      release: async () => {
        if (kept.owner === owner) kept.owner = null;
      },
    };
  }

  #kept(id: string): Kept {
    const kept = this.#sessions.get(id);
    if (kept === undefined) throw new AgentError('session_not_found', 'the session does not exist');
    return kept;
  }
}
