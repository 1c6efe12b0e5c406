import { BreakerState } from '@agentlens/contracts';
import type { ControlStateView } from '@agentlens/operations';
import { sql } from 'kysely';
import type { ReadOnly } from '../http/tenant-reads.ts';

/** An agent or one of its runs. */
interface Governed {
  readonly agentId: string;
  readonly runId?: string;
}

const RUNNING: ControlStateView = { state: 'running' };
const SEVERITY: Readonly<Record<ControlStateView['state'], number>> = {
  ...{ running: 0, breaker_open: 1, paused: 2, killed: 3 },
};
/** Parents of parents; deeper nesting is no agent any more. */
const MAX_ANCESTORS = 16;

/**
 * Reads what restricts the given agents and runs: orders, pauses by rules and open breakers of the tenant, the agent,
 * the run, its ancestors and its tree, the most severe first. The number of statements does not depend on the number of items.
 * The returned function looks up one item.
 */
export async function controlStates(
  db: ReadOnly,
  tenantId: string,
  governed: readonly Governed[],
): Promise<(one: Governed) => ControlStateView> {
  if (governed.length === 0) return () => RUNNING;
  const agentIds = [...new Set(governed.map(({ agentId }) => agentId))];
  const runIds = [...new Set(governed.flatMap(({ runId }) => runId ?? []))];
  const ancestors = await ancestorsOf(db, tenantId, runIds);
  const runs = [...new Set([...runIds, ...[...ancestors.values()].flat()])];
  const standing = new Map<string, ControlStateView>();
  const note = (state: ControlStateView) => {
    const key = `${state.scope}:${state.scopeId}`;
    standing.set(key, worse(standing.get(key), state));
  };
  for (const state of await orders(db, tenantId, agentIds, runs)) note(state);
  for (const state of await pauses(db, tenantId, agentIds)) note(state);
  for (const state of await breakers(db, tenantId, { agentIds, runIds, runs })) note(state);
  return ({ agentId, runId }) => {
    const about = [`tenant:${tenantId}`, `agent:${agentId}`];
    if (runId !== undefined) {
      about.push(...[runId, ...(ancestors.get(runId) ?? [])].flatMap((id) => [`run:${id}`, `tree:${id}`]));
    }
    return about.reduce((state, key) => worse(state, standing.get(key) ?? RUNNING), RUNNING);
  };
}

function worse(a: ControlStateView | undefined, b: ControlStateView): ControlStateView {
  return a !== undefined && SEVERITY[a.state] >= SEVERITY[b.state] ? a : b;
}

async function ancestorsOf(db: ReadOnly, tenantId: string, runIds: readonly string[]) {
  const ancestors = new Map<string, string[]>();
  if (runIds.length === 0) return ancestors;
  const { rows } = await sql<{ run: string; ancestor: string }>`
    with recursive line as (
      select run_id as run, parent_run_id as ancestor, 1 as depth from runs
      where tenant_id = ${tenantId} and run_id = any(${runIds}::text[]) and parent_run_id is not null
      union
      select line.run, r.parent_run_id, line.depth + 1 from line join runs r
        on r.tenant_id = ${tenantId} and r.run_id = line.ancestor
      where r.parent_run_id is not null and line.depth < ${MAX_ANCESTORS}
    )
    select run, ancestor from line`.execute(db);
  for (const { run, ancestor } of rows) ancestors.set(run, [...(ancestors.get(run) ?? []), ancestor]);
  return ancestors;
}

async function orders(db: ReadOnly, tenantId: string, agentIds: readonly string[], runIds: readonly string[]) {
  const rows = await db
    .selectFrom('control_orders')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('state', '<>', 'running')
    .where(
      sql<boolean>`(scope = 'tenant' or (scope = 'agent' and scope_id = any(${agentIds}::text[]))
        or (scope = 'run' and scope_id = any(${runIds}::text[])))`,
    )
    .execute();
  return rows.map(
    (row): ControlStateView => ({
      ...{ state: row.state, source: 'order', scope: row.scope, scopeId: row.scope_id, by: row.ordered_by },
      ...(row.reason === '' ? {} : { reason: row.reason }),
      since: row.issued_at,
    }),
  );
}

interface PauseRow {
  readonly agent_id: string;
  readonly paused_at: string;
  readonly pause_reason: string | null;
  readonly rule_name: string | null;
}

async function pauses(db: ReadOnly, tenantId: string, agentIds: readonly string[]) {
  // The trigger table is partitioned by time, so the time narrows the lookup.
  const { rows } = await sql<PauseRow>`
    select d.agent_id, d.paused_at, d.pause_reason, (
      select t.rule_name from guardrail_triggers t
      where t.tenant_id = d.tenant_id and t.trigger_id = d.pause_trigger_id
        and t.triggered_at between d.paused_at - interval '1 day' and d.paused_at + interval '1 minute' limit 1) as rule_name
    from agent_directives d
    where d.tenant_id = ${tenantId} and d.agent_id = any(${agentIds}::text[]) and d.paused_at is not null`.execute(db);
  return rows.map(
    (row): ControlStateView => ({
      ...{ state: 'paused', source: 'rule', scope: 'agent', scopeId: row.agent_id },
      ...(row.rule_name === null ? {} : { by: row.rule_name }),
      ...(row.pause_reason === null ? {} : { reason: row.pause_reason }),
      since: row.paused_at,
    }),
  );
}

interface Breakable {
  readonly agentIds: readonly string[];
  readonly runIds: readonly string[];
  /** The runs and their ancestors: one of them is the topmost run of each tree. */
  readonly runs: readonly string[];
}

async function breakers(db: ReadOnly, tenantId: string, { agentIds, runIds, runs }: Breakable) {
  const rows = await db
    .selectFrom('circuit_breakers')
    .select(['scope', 'scope_id', 'state'])
    .where('tenant_id', '=', tenantId)
    .where(sql<boolean>`state ->> 'kind' = 'open'`)
    .where(
      sql<boolean>`((scope = 'agent' and scope_id = any(${agentIds}::text[]))
        or (scope = 'run' and scope_id = any(${runIds}::text[]))
        or (scope = 'tree' and scope_id = any(${runs}::text[])))`,
    )
    .execute();
  return rows.flatMap(({ scope, scope_id: scopeId, state }): ControlStateView[] => {
    const breaker = BreakerState.parse(state);
    if (breaker.kind !== 'open') return [];
    return [
      { state: 'breaker_open', source: 'breaker', scope, scopeId, reason: breaker.reason, since: breaker.openedAt },
    ];
  });
}

/** Condition on the table `agents`: true if a rule or an order pauses the agent or its tenant, and nothing kills it. */
export function isPaused(tenantId: string) {
  const ordered = (state: 'paused' | 'killed') => sql<boolean>`exists (
    select from control_orders o where o.tenant_id = ${tenantId} and o.state = ${state}
      and (o.scope = 'tenant' or (o.scope = 'agent' and o.scope_id = agents.agent_id)))`;
  return sql<boolean>`((exists (
    select from agent_directives d
    where d.tenant_id = ${tenantId} and d.agent_id = agents.agent_id and d.paused_at is not null
  ) or ${ordered('paused')}) and not ${ordered('killed')})`;
}
