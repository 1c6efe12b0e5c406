import { AgentError } from '../core/agent-error.ts';
import { isPlainObject, type Json } from '../core/json.ts';
import { SCHEMA_VERSION } from './entry.ts';

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
