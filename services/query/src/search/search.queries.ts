import { DAY_MS } from '@agentlens/contracts';
import type { SearchHit } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const MOST_HITS = 20;
/** Of an id that carries its time, how far that of the row may be from it. */
const NEAR_MS = DAY_MS;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

type Row = { readonly [K in keyof Required<SearchHit>]: SearchHit[K] | null } & Pick<SearchHit, 'kind' | 'id'>;

@Injectable()
export class SearchQueries {
  constructor(private readonly reads: TenantReads) {}

  /** Every read is by an index: of triggers and events, which are ordered by time, only around that of the id. */
  async byId(tenantId: string, id: string): Promise<SearchHit[]> {
    const { from, to } = timesOf(id);
    const { rows } = await this.reads.read(tenantId, (db) =>
      sql<Row>`
        select 'run' as kind, run_id as id, agent_name as name, null as "runId", agent_id as "agentId", started_at as at
          from runs where tenant_id = ${tenantId} and run_id = ${id}
        union all select 'agent', agent_id, coalesce(name, slug), null, agent_id, first_seen_at
          from agents where tenant_id = ${tenantId} and (agent_id = ${id} or slug = ${id})
        union all (select 'conversation', session_id, null, run_id, agent_id, started_at
          from runs where tenant_id = ${tenantId} and session_id = ${id} order by started_at desc limit 1)
        union all select 'rule', rule_id, name, null, agent_id, created_at
          from guardrail_rules where tenant_id = ${tenantId} and rule_id = ${id}
        union all select 'trigger', trigger_id, rule_name, run_id, agent_id, triggered_at
          from guardrail_triggers where tenant_id = ${tenantId} and trigger_id = ${id}
            and triggered_at between ${from}::timestamptz and ${to}::timestamptz
        union all select 'decision', decision_id, tool_name, run_id, agent_id, decided_at
          from decisions where tenant_id = ${tenantId} and decision_id = ${id}
        union all select 'alert', alert_id, title, run_id, agent_id, created_at
          from alerts where tenant_id = ${tenantId} and alert_id = ${id}
        union all select 'delivery', delivery_id, action_type, null, agent_id, created_at
          from deliveries where tenant_id = ${tenantId} and delivery_id = ${id}
        union all select 'budget', budget_id, name, null, null, created_at
          from budgets where tenant_id = ${tenantId} and budget_id = ${id}
        union all select 'event', event_id, kind, run_id, agent_id, occurred_at
          from events where tenant_id = ${tenantId} and event_id = ${id}
            and occurred_at between ${from}::timestamptz and ${to}::timestamptz
        limit ${MOST_HITS}`.execute(db),
    );
    return rows.map(
      (row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as SearchHit,
    );
  }
}

/** Around the time that a UUID of version 7 carries; of any other id no time at all. */
function timesOf(id: string): { readonly from: string; readonly to: string } {
  const atMs = UUID_V7.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : 0;
  const instant = (ms: number) => new Date(Math.max(0, ms)).toISOString();
  return { from: instant(atMs - NEAR_MS), to: instant(atMs === 0 ? 0 : atMs + NEAR_MS) };
}
