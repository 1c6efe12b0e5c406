import type { AuditRecord, ChangeKind } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { AuditEntriesTable } from '../schema/audit.tables.ts';

/** A row of the audit as it is shown. */
export function auditEntryFromRow(row: Selectable<AuditEntriesTable>): AuditRecord {
  const { key_id: keyId, key_name: keyName, person } = row;
  return {
    id: row.entry_id,
    tenantId: row.tenant_id,
    changedAt: row.at,
    // Written by our own services, from the same list.
    kind: row.kind as ChangeKind,
    target: row.target,
    targetId: row.target_id,
    actor: keyId === null ? null : { person, keyId, keyName: keyName ?? keyId },
    reason: row.reason,
    before: row.before as AuditRecord['before'],
    after: row.after as AuditRecord['after'],
  };
}
