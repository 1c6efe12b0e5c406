import { type Alert, ApprovalBinding } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { AlertsTable } from '../schema/tables.ts';

/** An alert as its row says it, for its writer and its readers; what it lacks is left out, as in the published form. */
export function alertFromRow(row: Selectable<AlertsTable>): Alert {
  return {
    id: row.alert_id,
    tenantId: row.tenant_id,
    kind: row.kind,
    status: row.status,
    severity: row.severity,
    title: row.title,
    message: row.message,
    agentId: row.agent_id,
    ...(row.run_id === null ? {} : { runId: row.run_id }),
    ...(row.rule_id === null ? {} : { ruleId: row.rule_id }),
    ...(row.approval === null ? {} : { approval: ApprovalBinding.parse(row.approval) }),
    ...(row.asked_by === null ? {} : { askedBy: row.asked_by }),
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.acknowledged_at === null ? {} : { acknowledgedAt: row.acknowledged_at }),
    ...(row.acknowledged_by === null ? {} : { acknowledgedBy: row.acknowledged_by }),
    ...(row.decided_at === null ? {} : { decidedAt: row.decided_at }),
    ...(row.decided_by === null ? {} : { decidedBy: row.decided_by }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row.used_at === null ? {} : { usedAt: row.used_at }),
    ...(row.suppressed === 0 ? {} : { suppressed: row.suppressed }),
    version: row.version,
  };
}
