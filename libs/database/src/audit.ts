import { type AuditedChange, type AuditRecord, type ChangeKind, targetOf, timeOrderedId } from '@agentlens/contracts';
import type { Kysely, Selectable } from 'kysely';
import type { AuditEntriesTable } from './schema/query.tables.ts';
import type { Tables } from './schema/tables.ts';

/** Writes audit entries. Call in the transaction of the change, so that neither is stored without the other. */
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

/** Converts a row to an audit entry. */
export function auditEntryFromRow(row: Selectable<AuditEntriesTable>): AuditRecord {
  const { key_id: keyId, key_name: keyName, person } = row;
  return {
    id: row.entry_id,
    tenantId: row.tenant_id,
    changedAt: row.at,
    // Only our services write it, from the same list.
    kind: row.kind as ChangeKind,
    target: row.target,
    targetId: row.target_id,
    actor: keyId === null ? null : { person, keyId, keyName: keyName ?? keyId },
    reason: row.reason,
    before: row.before as AuditRecord['before'],
    after: row.after as AuditRecord['after'],
  };
}
