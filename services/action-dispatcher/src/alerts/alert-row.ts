import { type Alert, ApprovalBinding } from '@agentlens/contracts';
import type { AlertsTable } from '@agentlens/database';
import type { Selectable } from 'kysely';

export type AlertRow = Selectable<AlertsTable>;

/** The published form of a row. */
export function alertOf(row: AlertRow): Alert {
  return {
    id: row.alert_id,
    tenantId: row.tenant_id,
    kind: row.kind,
    status: row.status,
    severity: row.severity,
    title: row.title,
    message: row.message,
    agentId: row.agent_id,
    runId: row.run_id ?? undefined,
    ruleId: row.rule_id ?? undefined,
    approval: row.approval === null ? undefined : ApprovalBinding.parse(row.approval),
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    acknowledgedAt: row.acknowledged_at ?? undefined,
    acknowledgedBy: row.acknowledged_by ?? undefined,
    decidedAt: row.decided_at ?? undefined,
    decidedBy: row.decided_by ?? undefined,
    reason: row.reason ?? undefined,
    usedAt: row.used_at ?? undefined,
    suppressed: row.suppressed > 0 ? row.suppressed : undefined,
    version: row.version,
  };
}

type Lifetime = Pick<AlertRow, 'status' | 'expires_at' | 'used_at'>;

/** Still to be decided. */
export function isOpen({ status }: Pick<AlertRow, 'status'>): boolean {
  return status === 'pending' || status === 'acknowledged';
}

/** True where its time has run out, whether or not the sweeper has come by: nobody decided it, or nobody used it. */
export function hasLapsed(row: Lifetime, now: number): boolean {
  if (row.expires_at === null || Date.parse(row.expires_at) > now) return false;
  return isOpen(row) || (row.status === 'approved' && row.used_at === null);
}
