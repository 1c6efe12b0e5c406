import { type RunFacets, type RunFacetsQuery, withEnds } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';
import { IDLE_AFTER_MS } from './run-view.ts';
import { matchingRuns } from './runs.queries.ts';

const MAX_NAMES = 20;
const MAX_TAGS = 50;

interface Row {
  facet: 'status' | 'agent' | 'model' | 'tag' | 'idle' | 'all';
  value: string | null;
  runs: number;
}

/** Counts matching runs by status, agent, model and tag, for the filters of the run list. */
@Injectable()
export class RunFacetsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async of(tenantId: string, filter: RunFacetsQuery): Promise<RunFacets> {
    const now = this.clock.now();
    const quietSince = new Date(now - IDLE_AFTER_MS).toISOString();
    const rows = await this.reads.read(tenantId, async (db) => {
      const matching = matchingRuns(db, tenantId, withEnds(filter, now)).select([
        'status',
        'agent_id',
        'model',
        'tags',
        'run_tags',
        'last_event_at',
      ]);
      const answer = await sql<Row>`
        with matching as materialized (${matching})
        select 'status' as facet, status::text as value, count(*) as runs from matching group by status
        union all select 'agent', agent_id, count(*) from matching group by agent_id
        union all select 'model', model, count(*) from matching where model is not null group by model
        union all (
          select 'tag', tag, count(*) from matching cross join lateral (
            select unnest(tags) as tag union select key || '=' || value from jsonb_each_text(run_tags)
          ) as tags_of_run group by tag order by count(*) desc, tag limit ${MAX_TAGS})
        union all select 'idle', null, count(*) from matching
          where status = 'running' and last_event_at < ${quietSince}::timestamptz
        union all select 'all', null, count(*) from matching`.execute(db);
      return answer.rows;
    });
    const ofFacet = (facet: Row['facet'], most = MAX_NAMES) =>
      rows
        .filter((row) => row.facet === facet)
        .map(({ value, runs }) => ({ value: value ?? '', runs }))
        .sort((a, b) => b.runs - a.runs || (a.value < b.value ? -1 : 1))
        .slice(0, most);
    const [idle, all] = [ofFacet('idle')[0]?.runs ?? 0, ofFacet('all')[0]?.runs ?? 0];
    return {
      statuses: ofFacet('status'),
      agents: ofFacet('agent'),
      models: ofFacet('model'),
      tags: ofFacet('tag', MAX_TAGS),
      idle,
      total: all,
    };
  }
}
