import type { SessionEntry } from './entry.ts';
import type { SessionMetadata } from './session-metadata.ts';

export interface StoredSession {
  readonly meta: SessionMetadata;
  readonly entries: readonly SessionEntry[];
  /** A crash truncated the last entry; it is not in `entries` and is removed with the next append. */
  readonly torn: boolean;
}

export interface SessionFilter {
  readonly agentType?: string;
  readonly parentSessionId?: string | null;
}

/** The right to write to one session. */
export interface SessionLease {
  release(): Promise<void>;
}

export interface AppendOptions {
  /** The entries must survive a crash of the machine when this resolves. */
  readonly sync?: boolean;
}

/** Stores sessions. The history is authoritative; metadata is a summary that may be older. */
export interface SessionStore {
  /** @throws AgentError `conflict` if it exists */
  create(meta: SessionMetadata): Promise<void>;
  /** @throws AgentError `session_not_found`, `session_write_failed` */
  append(id: string, entries: readonly SessionEntry[], options?: AppendOptions): Promise<void>;
  /** @throws AgentError `session_not_found`, `session_corrupt`, `schema_too_new` */
  load(id: string): Promise<StoredSession>;
  saveMetadata(meta: SessionMetadata): Promise<void>;
  /** Ids, oldest first. */
  list(filter?: SessionFilter): Promise<string[]>;
  delete(id: string): Promise<void>;
  /** @throws AgentError `session_busy` while another owner is alive */
  acquire(id: string, owner: string): Promise<SessionLease>;
}

export function matchesFilter(meta: SessionMetadata, filter: SessionFilter = {}): boolean {
  if (filter.agentType !== undefined && meta.agent_type !== filter.agentType) return false;
  return filter.parentSessionId === undefined || meta.parent_session_id === filter.parentSessionId;
}

export function byAge(a: SessionMetadata, b: SessionMetadata): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? -1 : 1;
  return a.session_id < b.session_id ? -1 : 1;
}
