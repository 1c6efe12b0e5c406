import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json } from '../core/json.ts';
import type { Message, ToolResult } from '../core/message.ts';

export const SCHEMA_VERSION = 1;

export type EntryBody =
  | { readonly type: 'message'; readonly message: Message }
  /** A call is about to run: from here on it may have happened. */
  | { readonly type: 'tool-started'; readonly toolUseId: string; readonly name: string; readonly inputHash: string }
  | { readonly type: 'tool-ended'; readonly toolUseId: string; readonly name: string; readonly result: ToolResult }
  | {
      readonly type: 'permission';
      readonly toolUseId: string;
      readonly toolName: string;
      readonly inputHash: string;
      readonly decision: 'allow' | 'deny' | 'ask-user';
      readonly by: string;
    }
  | { readonly type: 'child'; readonly sessionId: string }
  | { readonly type: 'turn-started' | 'turn-ended'; readonly turn: number }
  | { readonly type: 'history-replaced'; readonly messages: readonly Message[] }
  | { readonly type: 'metadata'; readonly key: string; readonly value: Json };

/** One line of a session's history: `seq` counts from 1 without gaps, `at` is an ISO instant. */
export type SessionEntry = { readonly v: 1; readonly seq: number; readonly at: string } & EntryBody;

/** Stored data about a session, with the names used in its file. */
export interface SessionMetadata {
  readonly schema_version: number;
  readonly session_id: string;
  readonly agent_type: string;
  readonly parent_session_id: string | null;
  readonly parent_tool_use_id: string | null;
  readonly child_session_ids: readonly string[];
  readonly model: string;
  readonly provider: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly entry_count: number;
  readonly metadata: { readonly [key: string]: Json };
}

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Ids become file names and keys. @throws AgentError `invalid_config` */
export function checkSessionId(id: string): string {
  if (!ID.test(id))
    throw new AgentError('invalid_config', 'a session id has 1 to 64 letters, digits, hyphens or underscores');
  return id;
}

/** @throws AgentError `session_corrupt` or `schema_too_new` */
export function readSessionMetadata(value: unknown, where: string): SessionMetadata {
  if (!isPlainObject(value)) throw corrupt(where, 'it is not an object');
  const { schema_version: version = 1 } = value;
  if (typeof version !== 'number') throw corrupt(where, 'schema_version is not a number');
  if (version > SCHEMA_VERSION)
    throw new AgentError('schema_too_new', `${where} was written by a newer version (schema ${version})`);
  for (const key of ['session_id', 'agent_type', 'model', 'provider', 'created_at', 'updated_at'])
    if (typeof value[key] !== 'string') throw corrupt(where, `${key} is not a string`);
  return {
    ...{ entry_count: 0, child_session_ids: [], metadata: {}, parent_session_id: null, parent_tool_use_id: null },
    ...value,
    schema_version: SCHEMA_VERSION,
  } as unknown as SessionMetadata;
}

function corrupt(where: string, why: string): AgentError {
  return new AgentError('session_corrupt', `${where} cannot be read: ${why}`);
}

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
