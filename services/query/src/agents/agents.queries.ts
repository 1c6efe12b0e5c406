import { AgentTool } from '@agentlens/contracts';
import type { AgentDirectivesTable, AgentsTable } from '@agentlens/database';
import { AGENTS_LIST, type Agent, type AgentFilter, type ControlStateView } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { controlStates, isPaused } from '../control/control-states.ts';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

type DirectiveColumns = {
  [K in 'paused_at' | 'pause_reason' | 'model_override' | 'model_override_reason']:
    | Selectable<AgentDirectivesTable>[K]
    | null;
};

interface Around {
  readonly control: ControlStateView;
  readonly unpricedCalls: number;
}

/** An agent with the instructions in force for it. */
function agentFromRow(row: Selectable<AgentsTable> & DirectiveColumns, { control, unpricedCalls }: Around): Agent {
  return {
    id: row.agent_id,
    tenantId: row.tenant_id,
    name: row.name ?? row.agent_id,
    ...(row.description === null ? {} : { description: row.description }),
    ...(row.slug === null ? {} : { slug: row.slug }),
    tags: row.tags,
    tools: row.tools.flatMap((tool) => {
      const parsed = AgentTool.safeParse(tool);
      return parsed.success ? [parsed.data] : [];
    }),
    firstSeenAt: row.first_seen_at,
    lastSeenAt: row.last_seen_at,
    sessionCount: row.run_count,
    eventCount: row.event_count,
    errorCount: row.error_count,
    totalCostUsd: row.cost_usd,
    unpricedCalls,
    control,
    ...pauseOf(row),
    ...overrideOf(row),
  };
}

function pauseOf(row: DirectiveColumns): Partial<Agent> {
  if (row.paused_at === null) return {};
  return { pausedAt: row.paused_at, ...(row.pause_reason === null ? {} : { pauseReason: row.pause_reason }) };
}

function overrideOf(row: DirectiveColumns): Partial<Agent> {
  if (row.model_override === null) return {};
  const reason = row.model_override_reason;
  return { modelOverride: row.model_override, ...(reason === null ? {} : { modelOverrideReason: reason }) };
}

@Injectable()
export class AgentsQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: AgentFilter): Promise<Page<Agent> & { total: number }> {
    const { rows, total, controlOf, unpriced } = await this.reads.read(tenantId, async (db) => {
      const rows = await pageRows(db, tenantId, filter);
      const governed = rows.map((row) => ({ agentId: row.agent_id }));
      return {
        rows,
        total: await totalOf(db, tenantId, filter),
        controlOf: await controlStates(db, tenantId, governed),
        unpriced: await unpricedCalls(db, tenantId, governed),
      };
    });
    const page = pageOf(
      AGENTS_LIST,
      rows,
      filter.limit,
      (row) => ({ at: row.last_seen_at, id: row.agent_id }),
      (row) =>
        agentFromRow(row, {
          control: controlOf({ agentId: row.agent_id }),
          unpricedCalls: unpriced.get(row.agent_id) ?? 0,
        }),
    );
    return { ...page, total };
  }

  async get(tenantId: string, agentId: string): Promise<Agent | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const row = await withDirectives(db, tenantId).where('agents.agent_id', '=', agentId).executeTakeFirst();
      if (row === undefined) return undefined;
      const control = (await controlStates(db, tenantId, [{ agentId }]))({ agentId });
      const unpriced = await unpricedCalls(db, tenantId, [{ agentId }]);
      return agentFromRow(row, { control, unpricedCalls: unpriced.get(agentId) ?? 0 });
    });
  }
}

/** Runs of an agent to look at, so that a list of agents reads a bounded number of rows. */
const RECENT_RUNS = 20;

/** Model calls without a known cost in the newest runs of each agent. */
async function unpricedCalls(
  db: ReadOnly,
  tenantId: string,
  agents: readonly { readonly agentId: string }[],
): Promise<ReadonlyMap<string, number>> {
  const ids = agents.map(({ agentId }) => agentId);
  const { rows } = await sql<{ id: string; calls: number }>`
    select a.id, sum(r.unpriced_count)::int as calls
    from unnest(${ids}::text[]) as a(id)
    cross join lateral (
      select unpriced_count from runs where tenant_id = ${tenantId} and agent_id = a.id
      order by started_at desc limit ${sql.lit(RECENT_RUNS)}
    ) as r
    group by a.id`.execute(db);
  return new Map(rows.map(({ id, calls }) => [id, calls]));
}

/** Joins directives within the tenant only: two tenants may have agents of the same name. */
function withDirectives(db: ReadOnly, tenantId: string) {
  return db
    .selectFrom('agents')
    .leftJoin('agent_directives as directives', (join) =>
      join
        .onRef('directives.tenant_id', '=', 'agents.tenant_id')
        .onRef('directives.agent_id', '=', 'agents.agent_id')
        .on('directives.tenant_id', '=', tenantId),
    )
    .where('agents.tenant_id', '=', tenantId)
    .selectAll('agents')
    .select([
      'directives.paused_at',
      'directives.pause_reason',
      'directives.model_override',
      'directives.model_override_reason',
    ]);
}

function pageRows(db: ReadOnly, tenantId: string, filter: AgentFilter) {
  let query = matching(db, tenantId, filter);
  if (filter.cursor !== undefined) {
    query = query.where(
      sql<boolean>`(agents.last_seen_at, agents.agent_id) < (${filter.cursor.at}::timestamptz, ${filter.cursor.id})`,
    );
  }
  return query
    .orderBy('agents.last_seen_at', 'desc')
    .orderBy('agents.agent_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

async function totalOf(db: ReadOnly, tenantId: string, filter: AgentFilter): Promise<number> {
  const counted = db
    .selectFrom(matching(db, tenantId, filter).as('matching'))
    .select((eb) => eb.fn.countAll<number>().as('total'));
  return (await counted.executeTakeFirstOrThrow()).total;
}

function matching(db: ReadOnly, tenantId: string, filter: AgentFilter) {
  const query = withDirectives(db, tenantId);
  if (filter.paused === undefined) return query;
  const paused = isPaused(tenantId);
  return query.where(filter.paused ? paused : sql<boolean>`not ${paused}`);
}
