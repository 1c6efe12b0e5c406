import type { ModelRefusal } from '@agentlens/model-api';
import type { Connection } from '../connections/connections.ts';

/** Redirects are not followed: the address of a connection is what an admin has chosen. */
const CARRIES_ANSWER: ReadonlySet<number> = new Set([200, 201, 202, 203]);
/** Gemini answers 400 to a wrong key, with this reason. */
const WRONG_KEY = 'API_KEY_INVALID';

/** Why the client may not see an answer with this status; undefined if it may. */
export function findUnusable({ name }: Connection, status: number): ModelRefusal | undefined {
  if (status === 401 || status === 403) return rejectCredential(name, status);
  if (status >= 400 || CARRIES_ANSWER.has(status)) return undefined;
  const message = `The provider of the connection "${name}" sent no answer (${status}). An admin has to check its address.`;
  return { kind: 'provider_unreachable', code: 'provider_no_answer', message };
}

/** The same for an answer whose text says it. */
export function findWrongKey({ name, dialect }: Connection, status: number, text: string): ModelRefusal | undefined {
  return dialect === 'gemini' && status === 400 && text.includes(WRONG_KEY)
    ? rejectCredential(name, status)
    : undefined;
}

function rejectCredential(name: string, status: number): ModelRefusal {
  const message = `The provider rejected the key of the connection "${name}" (${status}). An admin has to replace it.`;
  return { kind: 'credential_rejected', code: 'provider_credential_rejected', message };
}
