import { derivedId, MAX_ANCESTORS } from '@agentlens/contracts';
import type { Database, Tables } from '@agentlens/database';
import type { StoredDecisionRow, StoredEventRow } from '@agentlens/replay';
import { type Kysely, sql } from 'kysely';

const PAGE_ROWS = 2_000;

export interface HistoryRange {
  readonly tenantId: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly agentIds?: readonly string[] | undefined;
}

/** Events may be stored under their own time while they arrive later; this much of it is read beyond the range. */
const READ_BEYOND_MS = 5 * 60_000;

/** Reads a tenant's history by primary key, in pages. */
export class History {
  readonly #db: Kysely<Tables>;

  constructor({ db }: Pick<Database, 'db'>) {
    this.#db = db;
  }

  /** Events in the order of their own time. */
  async *events(range: HistoryRange): AsyncGenerator<readonly StoredEventRow[]> {
    const { tenantId, fromMs, toMs } = range;
    const until = new Date(toMs + READ_BEYOND_MS).toISOString();
    // The server's text keeps microseconds.
    let after = { place: new Date(fromMs).toISOString(), id: '' };
    for (;;) {
      const { rows } = await sql<StoredEventRow & { place: string }>`
        select event_id, occurred_at, occurred_at::text as place, received_at, run_id, agent_id, session_id, kind, dialect,
          source_type, severity, is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens,
          cost_usd, latency_ms, tags, payload, metadata
        from events
        where tenant_id = ${tenantId} and (occurred_at, event_id) > (${after.place}::timestamptz, ${after.id})
          and occurred_at < ${until}::timestamptz ${ofAgents(range)}
        order by occurred_at, event_id limit ${PAGE_ROWS}`.execute(this.#db);
      yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE_ROWS) return;
      after = { place: last.place, id: last.event_id };
    }
  }

  /** Decisions in the order of their ids, which begin with their time. */
  async *decisions(range: HistoryRange): AsyncGenerator<readonly StoredDecisionRow[]> {
    const { tenantId, fromMs, toMs } = range;
    let after = timeBound(fromMs);
    const until = timeBound(toMs);
    for (;;) {
      const { rows } = await sql<StoredDecisionRow>`
        select d.decision_id, d.run_id, d.agent_id, d.phase, d.tool_name, d.call_id, d.verdict, d.reason, d.arguments,
          d.arguments_cut, d.inputs_digest, d.decided_at, r.session_id, r.actor_id, r.actor, r.run_tags,
          d.tool_tags, a.tags as agent_tags, a.tools as agent_tools, line.ancestors
        from decisions d
        left join runs r on r.tenant_id = d.tenant_id and r.run_id = d.run_id
        left join lateral (
          with recursive up as (
            select r.parent_run_id as run_id, 1 as depth
            union all
            select p.parent_run_id, up.depth + 1 from up
            join runs p on p.tenant_id = d.tenant_id and p.run_id = up.run_id
            where p.parent_run_id is not null and up.depth < ${MAX_ANCESTORS}
          )
          select array_agg(run_id order by depth) as ancestors from up
        ) line on r.parent_run_id is not null
        left join agents a on a.tenant_id = d.tenant_id and a.agent_id = d.agent_id
        where d.tenant_id = ${tenantId} and d.decision_id > ${after} and d.decision_id < ${until} ${ofAgents(range, 'd.')}
        order by d.decision_id limit ${PAGE_ROWS}`.execute(this.#db);
      yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE_ROWS) return;
      after = last.decision_id;
    }
  }
}

function ofAgents({ agentIds }: HistoryRange, prefix = '') {
  return agentIds === undefined ? sql`` : sql`and ${sql.raw(prefix)}agent_id = any(${agentIds}::text[])`;
}

/** The least id of a time: everything before its first hyphens. */
function timeBound(atMs: number): string {
  return derivedId(atMs).slice(0, 14);
}
