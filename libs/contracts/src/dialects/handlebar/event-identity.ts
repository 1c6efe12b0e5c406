import { sha256Hex } from '#sha256';
import { canonicalJson } from '../../canonical-form.ts';
import type { JsonObject } from '../../events.ts';
import { derivedId } from '../../new-ids.ts';
import { timeOfId } from '../agentlens/id-time.ts';

/** What of an audit event makes it the event it is: the client in the field sends no ids, but the same bytes again. */
export interface AuditIdentity {
  readonly agentId: string;
  readonly runId: string;
  readonly kind: string;
  readonly stepIndex: number | undefined;
  readonly atMs: number | undefined;
  readonly messageId: string | undefined;
  readonly data: JsonObject;
}

/**
 * The id of an audit event: by its message where it is one, else by everything it says. Equal for every retry, in
 * whatever batch or order; two events that differ in nothing are one event.
 */
export function auditEventId({ agentId, runId, kind, stepIndex, atMs, messageId, data }: AuditIdentity): string {
  const what =
    messageId === undefined
      ? [kind, stepIndex ?? '', atMs ?? '', sha256Hex(canonicalJson(data))]
      : [kind, 'message', messageId];
  return stableId(atMs, agentId, runId, ...what);
}

/**
 * The one id of a run's start, or of its end: both are told twice, by a call and by an audit event. A start is dated
 * with the time in the run's id where it has one.
 */
export function runMomentId(agentId: string, runId: string, kind: 'run.started' | 'run.ended'): string {
  return stableId(kind === 'run.started' ? timeOfId(runId) : undefined, agentId, runId, kind);
}

/** Without a time the id must not look as if it had one. */
function stableId(atMs: number | undefined, ...parts: readonly (string | number)[]): string {
  if (atMs !== undefined && atMs >= 0 && atMs <= LAST_ID_MS) return derivedId(atMs, ...parts);
  return `hb-${sha256Hex(JSON.stringify(parts)).slice(0, 32)}`;
}

/** 48 bits: what a UUIDv7 can hold. */
const LAST_ID_MS = 2 ** 48 - 1;
