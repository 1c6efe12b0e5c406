import {
  type ChangeAuthor,
  DAY_MS,
  detailsOf,
  MAX_REPRICE_DAYS,
  type Problem,
  type ProblemDetail,
  type Reprice,
  RepriceDraft,
  type RepricedModel,
  timeOrderedId,
} from '@agentlens/contracts';
import { type Database, type RepricesTable, recordChanges, repriceFromRow, type Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { PageChanges, StoredCall } from './repriced-calls.ts';

/** Calls per transaction: large enough to be fast, small enough that the rows of a run are not locked for long. */
const PAGE = 1_000;
/** Models with sums of their own in one job; further ones are added up under one name. */
const MAX_MODELS = 500;
const OTHER_MODELS = '["other","(other models)"]';

export interface RunningReprice {
  readonly tenantId: string;
  readonly id: string;
}

interface RepriceOrder {
  readonly tenantId: string;
  readonly body?: unknown;
  readonly author?: ChangeAuthor | undefined;
}

type Begun = { readonly ok: true; readonly value: Reprice } | { readonly ok: false; readonly problem: Problem };
type Request = Pick<Reprice, 'from' | 'to' | 'models' | 'onlyUnpriced' | 'dryRun'>;
type Row = Selectable<RepricesTable>;

/** Writer of `reprices`; changes costs of events and moves the totals by the difference. */
export class Reprices {
  constructor(
    private readonly database: Pick<Database, 'db'>,
    private readonly now: () => number,
  ) {}

  async begin({ tenantId, body, author }: RepriceOrder): Promise<Begun> {
    const draft = RepriceDraft.safeParse(body);
    if (!draft.success) return invalid(detailsOf(draft.error));
    const { from, to } = draft.data;
    const rangeMs = Date.parse(to) - Date.parse(from);
    if (rangeMs <= 0) return invalid([{ path: 'to', message: 'must be later than from' }]);
    if (rangeMs > MAX_REPRICE_DAYS * DAY_MS) {
      return invalid([{ path: 'from', message: `must be at most ${MAX_REPRICE_DAYS} days before to` }]);
    }
    return this.database.db.transaction().execute(async (tx) => {
      const made = await tx
        .insertInto('reprices')
        .values({
          ...{ tenant_id: tenantId, reprice_id: timeOrderedId(this.now()), state: 'running' },
          request: JSON.stringify(draft.data),
          author: author === undefined ? null : JSON.stringify(author),
        })
        .onConflict((conflict) => conflict.doNothing())
        .returningAll()
        .executeTakeFirst();
      if (made === undefined) return { ok: false, problem: IS_RUNNING } as const;
      const { reprice_id: targetId, started_at: at } = made;
      await recordChanges(tx, [{ tenantId, at, kind: 'reprice.started', targetId, author, after: draft.data }]);
      return { ok: true, value: repriceFromRow(made) } as const;
    });
  }

  async running(): Promise<readonly RunningReprice[]> {
    const { rows } = await sql<RunningReprice>`
      select tenant_id as "tenantId", reprice_id as id from reprices
      where state = 'running' order by started_at limit 20`.execute(this.database.db);
    return rows;
  }

  /** Reprices the next page of a job, unless another replica does. The job ends with its last page. */
  async page(tenantId: string, id: string, price: (calls: readonly StoredCall[]) => PageChanges): Promise<void> {
    await this.database.db.transaction().execute(async (tx) => {
      const { rows } = await sql<Row>`
        select * from reprices where tenant_id = ${tenantId} and reprice_id = ${id} and state = 'running'
        for update skip locked`.execute(tx);
      const [job] = rows;
      if (job === undefined) return;
      const request = job.request as unknown as Request;
      const calls = await pageOf(tx, job, request);
      const { changes, byModel } = price(calls);
      if (changes.length > 0 && !request.dryRun) await applyChanges(tx, tenantId, JSON.stringify(changes));
      await this.#advance(tx, job, calls, byModel);
    });
  }

  async #advance(
    tx: Kysely<Tables>,
    job: Row,
    calls: readonly StoredCall[],
    page: ReadonlyMap<string, RepricedModel>,
  ): Promise<void> {
    const { tenant_id: tenantId, reprice_id: targetId } = job;
    const last = calls.at(-1);
    const isFinished = calls.length < PAGE || last === undefined;
    const byModel = merged(job.by_model as Record<string, RepricedModel>, page);
    const sums = [...page.values()];
    const after = {
      calls: Number(job.calls) + calls.length,
      changed: Number(job.changed) + sums.reduce((sum, { changed }) => sum + changed, 0),
      delta_usd: Number(job.delta_usd) + sums.reduce((sum, { newUsd, oldUsd }) => sum + newUsd - oldUsd, 0),
    };
    const at = new Date(this.now()).toISOString();
    await tx
      .updateTable('reprices')
      .set({ ...after, by_model: JSON.stringify(byModel) })
      .$if(last !== undefined, (query) =>
        query.set({ done_at: last?.occurredAt ?? null, done_event: last?.eventId ?? null }),
      )
      .$if(isFinished, (query) => query.set({ state: 'finished', finished_at: at }))
      .where('tenant_id', '=', tenantId)
      .where('reprice_id', '=', targetId)
      .execute();
    if (!isFinished) return;
    const author = (job.author as ChangeAuthor | null) ?? undefined;
    const { calls: priced, changed, delta_usd: deltaUsd } = after;
    const summary = { ...(job.request as object), calls: priced, changed, deltaUsd };
    await recordChanges(tx, [{ tenantId, at, kind: 'reprice.finished', targetId, author, after: summary }]);
  }
}

const IS_RUNNING: Problem = {
  error: 'A reprice is running already',
  status: 409,
  hint: 'Wait until it has finished: GET /api/reprices.',
};

function invalid(details: ProblemDetail[]): Begun {
  return { ok: false, problem: { error: 'Validation failed', status: 400, details } };
}

async function pageOf(tx: Kysely<Tables>, job: Row, { from, to, models, onlyUnpriced }: Request) {
  const { rows } = await sql<StoredCall>`
    select occurred_at as "occurredAt", event_id as "eventId", dialect, model, provider, input_tokens as "inputTokens",
      output_tokens as "outputTokens", cost_usd::text as "costUsd", cost_source as "costSource", pricing,
      case when pricing is null then coalesce(payload->'usage', payload->'tokens', payload) end as counts
    from events
    where tenant_id = ${job.tenant_id} and occurred_at >= ${job.done_at ?? from}::timestamptz
      and occurred_at < ${to}::timestamptz
      and (occurred_at, event_id collate "C") > (${job.done_at ?? '-infinity'}::timestamptz, ${job.done_event ?? ''})
      and kind in ('llm.completed', 'cost.recorded') and cost_source is not null
      ${onlyUnpriced ? sql`and cost_source = 'unpriced'` : sql``}
      ${models === undefined ? sql`` : sql`and model = any(${[...models]}::text[])`}
    order by occurred_at, event_id collate "C" limit ${sql.lit(PAGE)}`.execute(tx);
  return rows;
}

/**
 * Changes calls and moves totals by the difference, in the order in which all writers lock rows: events, runs, agents,
 * days, activity. A call counts on its own day, and its run counts on the day the run started.
 */
async function applyChanges(tx: Kysely<Tables>, tenantId: string, changes: string): Promise<void> {
  await sql`
    with changes as (
      select * from jsonb_to_recordset(${changes}::jsonb)
        as change(at timestamptz, id text, cost numeric, source text, pricing text)
    ),
    before as materialized (
      select e.occurred_at, e.event_id, e.run_id, e.agent_id, coalesce(e.cost_usd, 0) as usd,
        (e.cost_source = 'unpriced')::int as unpriced, c.cost, c.source, c.pricing
      from events e join changes c on c.at = e.occurred_at and c.id = e.event_id
      where e.tenant_id = ${tenantId}
      order by e.occurred_at, e.event_id collate "C" for update of e
    ),
    moved as (
      update events e set cost_usd = b.cost, cost_source = b.source, pricing = b.pricing::jsonb
      from before b where e.tenant_id = ${tenantId} and e.occurred_at = b.occurred_at and e.event_id = b.event_id
      returning e.run_id, e.agent_id, e.occurred_at, (e.occurred_at at time zone 'UTC')::date as day,
        coalesce(e.cost_usd, 0) - b.usd as usd, (e.cost_source = 'unpriced')::int - b.unpriced as unpriced
    ),
    of_runs as materialized (
      select run_id, sum(usd) as usd, sum(unpriced) as unpriced from moved group by run_id
      having sum(usd) <> 0 or sum(unpriced) <> 0
    ),
    locked_runs as materialized (
      select r.run_id, o.usd, o.unpriced from runs r join of_runs o using (run_id)
      where r.tenant_id = ${tenantId} order by r.run_id collate "C" for update of r
    ),
    runs_after as (
      update runs r set cost_usd = r.cost_usd + l.usd, unpriced_count = r.unpriced_count + l.unpriced, updated_at = now()
      from locked_runs l where r.tenant_id = ${tenantId} and r.run_id = l.run_id
      returning r.agent_id, (r.started_at at time zone 'UTC')::date as day, l.usd
    ),
    of_agents as materialized (
      select agent_id, sum(usd) as usd from moved where (select count(*) from runs_after) >= 0
      group by agent_id having sum(usd) <> 0
    ),
    locked_agents as materialized (
      select a.agent_id, o.usd from agents a join of_agents o using (agent_id)
      where a.tenant_id = ${tenantId} order by a.agent_id for update of a
    ),
    agents_after as (
      update agents a set cost_usd = a.cost_usd + l.usd
      from locked_agents l where a.tenant_id = ${tenantId} and a.agent_id = l.agent_id returning 1
    ),
    of_days as materialized (
      select agent_id, day, sum(usd) as usd, sum(run_usd) as run_usd
      from (
        select agent_id, day, usd, 0 as run_usd from moved
        union all
        select agent_id, day, 0, usd from runs_after
      ) as each_move
      where (select count(*) from agents_after) >= 0
      group by agent_id, day having sum(usd) <> 0 or sum(run_usd) <> 0
    ),
    locked_days as materialized (
      select d.agent_id, d.day, o.usd, o.run_usd from agent_daily d join of_days o using (agent_id, day)
      where d.tenant_id = ${tenantId} order by d.agent_id, d.day for update of d
    ),
    days_after as (
      update agent_daily d set cost_usd = d.cost_usd + l.usd, run_cost_usd = d.run_cost_usd + l.run_usd
      from locked_days l where d.tenant_id = ${tenantId} and d.agent_id = l.agent_id and d.day = l.day returning 1
    ),
    of_buckets as materialized (
      select grain, date_trunc(grain, occurred_at, 'UTC') as bucket, agent_id, sum(usd) as usd
      from moved cross join (values ('minute'), ('hour')) as grains(grain)
      where (select count(*) from days_after) >= 0
      group by 1, 2, 3 having sum(usd) <> 0
    ),
    locked_buckets as materialized (
      select a.grain, a.bucket, a.agent_id, o.usd from activity a join of_buckets o using (grain, bucket, agent_id)
      where a.tenant_id = ${tenantId} order by a.grain, a.bucket, a.agent_id for update of a
    )
    update activity a set cost_usd = a.cost_usd + l.usd from locked_buckets l
    where a.tenant_id = ${tenantId} and a.grain = l.grain and a.bucket = l.bucket and a.agent_id = l.agent_id`.execute(
    tx,
  );
}

function merged(before: Readonly<Record<string, RepricedModel>>, page: ReadonlyMap<string, RepricedModel>) {
  const sums: Record<string, RepricedModel> = { ...before };
  for (const [key, change] of page) {
    const isKnown = Object.hasOwn(sums, key) || Object.keys(sums).length < MAX_MODELS;
    const name = isKnown ? key : OTHER_MODELS;
    const known = sums[name];
    const { provider, model } = isKnown ? change : { provider: 'other', model: '(other models)' };
    sums[name] =
      known === undefined
        ? { ...change, provider, model }
        : {
            ...{ provider, model, calls: known.calls + change.calls, changed: known.changed + change.changed },
            ...{ oldUsd: known.oldUsd + change.oldUsd, newUsd: known.newUsd + change.newUsd },
            unpriced: known.unpriced + change.unpriced,
          };
  }
  return sums;
}
