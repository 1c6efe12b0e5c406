import { AGENTS_LIST, type Agent, type AgentFilter } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { controlStates, isPaused } from '../control/control-states.ts';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { agentFromRow } from './agent.ts';

@Injectable()
export class AgentsQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: AgentFilter): Promise<Page<Agent> & { total: number }> {
    const { rows, total, controlOf } = await this.reads.read(tenantId, async (db) => {
      const rows = await pageRows(db, tenantId, filter);
      const governed = rows.map((row) => ({ agentId: row.agent_id }));
      return {
        rows,
        total: await totalOf(db, tenantId, filter),
        controlOf: await controlStates(db, tenantId, governed),
      };
    });
    const page = pageOf(
      AGENTS_LIST,
      rows,
      filter.limit,
      (row) => ({ at: row.last_seen_at, id: row.agent_id }),
      (row) => agentFromRow(row, controlOf({ agentId: row.agent_id })),
    );
    return { ...page, total };
  }

  async get(tenantId: string, agentId: string): Promise<Agent | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const row = await withDirectives(db, tenantId).where('agents.agent_id', '=', agentId).executeTakeFirst();
      if (row === undefined) return undefined;
      return agentFromRow(row, (await controlStates(db, tenantId, [{ agentId }]))({ agentId }));
    });
  }
}

/** The directive joins within the tenant only: agents of two tenants may have one name. */
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
