import type { AlertLabels } from '@agentlens/contracts';
import type { Kysely, Selectable } from 'kysely';
import type { AlertsTable } from './schema/action-dispatcher.tables.ts';
import type { Tables } from './schema/tables.ts';

type Db = Pick<Kysely<Tables>, 'selectFrom'>;
type LabelledRow = Pick<Selectable<AlertsTable>, 'labels' | 'kind' | 'severity' | 'agent_id' | 'rule_id' | 'approval'>;

/** Alerts of a tenant that are compared with each other. */
const MAX_FIRING = 5_000;

/** Labels of an alert; of one from before alerts had labels, those that its row has. */
export function labelsFromAlert(row: LabelledRow): AlertLabels {
  return (row.labels as AlertLabels | null) ?? ownLabels(row);
}

/** Labels that a row has by itself, without what other tables know of it. */
export function ownLabels({ kind, severity, agent_id, rule_id, approval }: Omit<LabelledRow, 'labels'>): AlertLabels {
  const { toolName } = (approval ?? {}) as { readonly toolName?: string };
  return {
    ...{ kind, severity, agent: agent_id },
    ...(rule_id === null ? {} : { rule: rule_id }),
    ...(toolName === undefined ? {} : { tool: toolName }),
  };
}

/** Alerts that fire, newest first, with their labels. Only inhibition needs them all. */
export async function readFiringAlerts(
  db: Db,
  tenantId: string,
): Promise<{ readonly alertId: string; readonly labels: AlertLabels }[]> {
  const rows = await db
    .selectFrom('alerts')
    .select(['alert_id', 'labels', 'kind', 'severity', 'agent_id', 'rule_id', 'approval'])
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'pending')
    .orderBy('created_at', 'desc')
    .limit(MAX_FIRING)
    .execute();
  return rows.map((row) => ({ alertId: row.alert_id, labels: labelsFromAlert(row) }));
}

/** A silence that is in force or will be. */
export interface OpenSilence {
  readonly tenantId: string;
  readonly id: string;
  readonly matchers: readonly string[];
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

/** Silences of these tenants that have not ended, oldest first. */
export async function readOpenSilences(db: Db, tenantIds: readonly string[], nowMs: number): Promise<OpenSilence[]> {
  if (tenantIds.length === 0) return [];
  const rows = await db
    .selectFrom('silences')
    .selectAll()
    .where('tenant_id', 'in', [...tenantIds])
    .where('ends_at', '>', new Date(nowMs).toISOString())
    .orderBy('created_at')
    .execute();
  return rows.map(({ tenant_id, silence_id, matchers, starts_at, ends_at }) => ({
    ...{ tenantId: tenant_id, id: silence_id, matchers },
    ...{ startsAtMs: Date.parse(starts_at), endsAtMs: Date.parse(ends_at) },
  }));
}
