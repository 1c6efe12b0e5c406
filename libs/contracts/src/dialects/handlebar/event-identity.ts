import { sha256Hex } from '#sha256';
import { canonicalJson } from '../../canonical-form.ts';
import type { JsonObject } from '../../events.ts';
import { stableId } from '../stable-ids.ts';

/** What of an audit event makes it the event it is: the client in the field sends no ids, but the same bytes again. */
interface AuditIdentity {
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
