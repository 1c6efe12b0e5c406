import { type AuditedChange, type AuditRecord, type ChangeKind, targetOf, timeOrderedId } from '@agentlens/contracts';
import type { Kysely, Selectable } from 'kysely';
import type { AuditEntriesTable } from './schema/query.tables.ts';
import type { Tables } from './schema/tables.ts';

/**
 * Writes audit entries, each with its pending entry of the provable log. Call in the transaction of the change, so that
 * neither is stored without the other.
 */
export async function recordChanges(db: Kysely<Tables>, changes: readonly AuditedChange[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ tenantId, at, kind, targetId, author, reason, before, after }) => ({
    tenant_id: tenantId,
    entry_id: timeOrderedId(Date.parse(at)),
    at,
    kind,
    target: targetOf(kind),
    target_id: targetId,
    key_id: author?.keyId ?? null,
    key_name: author?.keyName ?? null,
    person: author?.person ?? null,
    person_id: author?.personId ?? null,
    via: author?.via ?? null,
    session_id: author?.sessionId ?? null,
    reason: reason ?? null,
    before: before === undefined ? null : JSON.stringify(before),
    after: after === undefined ? null : JSON.stringify(after),
  }));
  const pending = rows.map(({ tenant_id, entry_id, at }) => ({
    ...{ tenant_id, entry_id, at },
    ...{ kind: 'change', run_id: null, payload: null },
  }));
  await db
    .with('audited', (query) => query.insertInto('audit_entries').values(rows))
    .insertInto('log_pending')
    .values(pending)
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
    actor:
      keyId === null
        ? null
        : {
            ...{ person, keyId, keyName: keyName ?? keyId },
            ...(row.person_id === null ? {} : { personId: row.person_id }),
            ...(row.via === null ? {} : { via: row.via }),
            ...(row.session_id === null ? {} : { sessionId: row.session_id }),
          },
    reason: row.reason,
    before: row.before as AuditRecord['before'],
    after: row.after as AuditRecord['after'],
  };
}
