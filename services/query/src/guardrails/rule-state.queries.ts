import type { AgentState, RuleDay, RuleState } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

const MAX_AGENTS = 100;
const MAX_DAYS = 30;

interface AgentRow {
  agentId: string;
  lastEvaluatedAt: string | null;
  currentValue: number | null;
  degradedReason: string | null;
  lastTriggeredAt: string | null;
  triggerCount: number;
  dryRunCount: number;
  coolingUntil: string | null;
}

/** Combines a rule's measurements (written by the evaluator) with its trigger counts (written by the dispatcher). */
@Injectable()
export class RuleStateQueries {
  constructor(private readonly reads: TenantReads) {}

  async of(tenantId: string, ruleId: string): Promise<{ state: RuleState | null; agents: AgentState[] }> {
    return this.reads.read(tenantId, async (db) => {
      const rows = await agentRows(db, tenantId, ruleId);
      const totals = await triggerTotals(db, tenantId, ruleId);
      const [newest] = rows;
      if (newest === undefined) return { state: null, agents: [] };
      return { state: { ruleId, tenantId, ...measuredOf(newest), ...totals }, agents: rows.map(agentState) };
    });
  }

  /** Newest first. */
  async days(tenantId: string, ruleId: string): Promise<RuleDay[]> {
    const rows = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('rule_daily')
        .select(['day', 'asked', 'matched', 'blocked', 'asked_human', 'would_have'])
        .where('tenant_id', '=', tenantId)
        .where('rule_id', '=', ruleId)
        .orderBy('day', 'desc')
        .limit(MAX_DAYS)
        .execute(),
    );
    return rows.map(({ asked_human: askedHuman, would_have: wouldHave, ...row }) => ({
      ...row,
      askedHuman,
      wouldHave,
    }));
  }
}

/** An agent may have been evaluated, have triggered, or both. Dry-run and real triggers have separate cooldowns. */
async function agentRows(db: ReadOnly, tenantId: string, ruleId: string): Promise<AgentRow[]> {
  const { rows } = await sql<AgentRow>`
    with fired as (
      select agent_id, max(last_triggered_at) as last_triggered_at, sum(trigger_count) as trigger_count,
        coalesce(sum(trigger_count) filter (where dry_run), 0) as dry_run_count, max(cooling_until) as cooling_until
      from trigger_cooldowns where tenant_id = ${tenantId} and rule_id = ${ruleId} group by agent_id
    ), measured as (
      select agent_id, last_evaluated_at, current_value, degraded_reason
      from guardrail_states where tenant_id = ${tenantId} and rule_id = ${ruleId}
    )
    select agent_id as "agentId", last_evaluated_at as "lastEvaluatedAt", current_value as "currentValue",
      degraded_reason as "degradedReason", last_triggered_at as "lastTriggeredAt",
      coalesce(trigger_count, 0) as "triggerCount", coalesce(dry_run_count, 0) as "dryRunCount",
      cooling_until as "coolingUntil"
    from measured full join fired using (agent_id)
    order by last_evaluated_at desc nulls last, agent_id limit ${MAX_AGENTS}`.execute(db);
  return rows;
}

async function triggerTotals(db: ReadOnly, tenantId: string, ruleId: string) {
  const totals = await db
    .selectFrom('trigger_cooldowns')
    .where('tenant_id', '=', tenantId)
    .where('rule_id', '=', ruleId)
    .select((eb) => [
      sql<number>`coalesce(sum(trigger_count), 0)`.as('triggerCount'),
      eb.fn.max('last_triggered_at').as('lastTriggeredAt'),
    ])
    .executeTakeFirstOrThrow();
  const last = totals.lastTriggeredAt as string | null;
  return { triggerCount: totals.triggerCount, ...(last === null ? {} : { lastTriggeredAt: last }) };
}

function agentState(row: AgentRow): AgentState {
  return {
    agentId: row.agentId,
    triggerCount: row.triggerCount,
    dryRunCount: row.dryRunCount,
    ...(row.lastTriggeredAt === null ? {} : { lastTriggeredAt: row.lastTriggeredAt }),
    ...measuredOf(row),
    ...(row.coolingUntil === null ? {} : { coolingUntil: row.coolingUntil }),
    ...(row.degradedReason === null ? {} : { degradedReason: row.degradedReason }),
  };
}

function measuredOf(row: AgentRow) {
  return {
    ...(row.lastEvaluatedAt === null ? {} : { lastEvaluatedAt: row.lastEvaluatedAt }),
    ...(row.currentValue === null ? {} : { currentValue: row.currentValue }),
  };
}
