import { type AuditedChange, targetOf, timeOrderedId } from '@agentlens/contracts';
import type { Kysely } from 'kysely';
import type { Tables } from '../schema/tables.ts';

/** Writes what was changed into the audit: in the transaction of the change itself, so that there is neither without the other. */
export async function recordChanges(db: Kysely<Tables>, changes: readonly AuditedChange[]): Promise<void> {
  if (changes.length === 0) return;
  await db
    .insertInto('audit_entries')
    .values(
      changes.map(({ tenantId, at, kind, targetId, author, reason, before, after }) => ({
        tenant_id: tenantId,
        entry_id: timeOrderedId(Date.parse(at)),
        at,
        kind,
        target: targetOf(kind),
        target_id: targetId,
        key_id: author?.keyId ?? null,
        key_name: author?.keyName ?? null,
        person: author?.person ?? null,
        reason: reason ?? null,
        before: before === undefined ? null : JSON.stringify(before),
        after: after === undefined ? null : JSON.stringify(after),
      })),
    )
    .execute();
}
