import { AGENTS_LIST, type Agent, type AgentFilter } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { agentFromRow } from './agent.ts';

@Injectable()
export class AgentsQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: AgentFilter): Promise<Page<Agent> & { total: number }> {
    const { rows, total } = await this.reads.read(tenantId, async (db) => ({
      rows: await pageRows(db, tenantId, filter),
      total: await totalOf(db, tenantId, filter),
    }));
    const page = pageOf(
      AGENTS_LIST,
      rows,
      filter.limit,
      (row) => ({ at: row.last_seen_at, id: row.agent_id }),
      agentFromRow,
    );
    return { ...page, total };
  }

  async get(tenantId: string, agentId: string): Promise<Agent | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      withDirectives(db, tenantId).where('agents.agent_id', '=', agentId).executeTakeFirst(),
    );
    return row && agentFromRow(row);
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
  return query.where('directives.paused_at', filter.paused ? 'is not' : 'is', null);
}
