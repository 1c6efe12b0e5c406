import {
  type DecisionView,
  type Position,
  RUN_DECISIONS_LIST,
  RUN_EVENTS_LIST,
  RUNS_LIST,
  type Run,
  type RunDecisionsQuery,
  type RunEventsQuery,
  type RunFacetsQuery,
  type RunFilter,
  type RunSort,
  withEnds,
} from '@agentlens/operations';
import { type Clock, ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { controlStates } from '../control/control-states.ts';
import { eventPage } from '../events/event-page.ts';
import { type Page, pageOf, type WrittenPage } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { containsText } from '../search/contained-text.ts';
import { decisionFromRow, selectDecisions } from './decision-view.ts';
import { eventsOfRun, spanOfRun } from './run-span.ts';
import { governedBy, runFromRow } from './run-view.ts';

@Injectable()
export class RunsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: RunFilter): Promise<Page<Run>> {
    const now = this.clock.now();
    const { rows, controlOf } = await this.reads.read(tenantId, async (db) => {
      const rows = await pageRows(db, tenantId, withEnds(filter, now));
      return { rows, controlOf: await controlStates(db, tenantId, rows.map(governedBy)) };
    });
    const positionOf = (row: RunRow) => positionIn(filter, row);
    return pageOf(RUNS_LIST, rows, filter.limit, positionOf, (row) => runFromRow(row, now, controlOf(governedBy(row))));
  }

  /** Returns undefined for an unknown run. */
  async events(tenantId: string, runId: string, query: RunEventsQuery): Promise<WrittenPage | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const span = await spanOfRun(db, tenantId, runId);
      return span && eventPage(db, RUN_EVENTS_LIST, eventsOfRun(db, tenantId, runId, span), query);
    });
  }

  /** Returns undefined for an unknown run. */
  async decisions(tenantId: string, runId: string, query: RunDecisionsQuery): Promise<Page<DecisionView> | undefined> {
    const rows = await this.reads.read(tenantId, async (db) =>
      (await spanOfRun(db, tenantId, runId)) ? decisionRows(db, tenantId, runId, query) : undefined,
    );
    if (rows === undefined) return undefined;
    const positionOf = (row: { decided_at: string; decision_id: string }) => ({
      at: row.decided_at,
      id: row.decision_id,
    });
    return pageOf(RUN_DECISIONS_LIST, rows, query.limit, positionOf, decisionFromRow);
  }
}

interface RunRow {
  readonly run_id: string;
  readonly started_at: string;
  readonly sort_value: string | null;
}

/** What runs are sorted by, as numbers that are exact as text. A run in progress lasts until its last event. */
const SORT_VALUES: Readonly<Record<Exclude<RunSort, 'started'>, RawBuilder<unknown>>> = {
  duration: sql`(extract(epoch from coalesce(ended_at, last_event_at) - started_at) * 1000000)::numeric`,
  cost: sql`cost_usd`,
  tokens: sql`total_tokens::numeric`,
  steps: sql`step_count::numeric`,
  errors: sql`error_count::numeric`,
};

/** A position in another sort has no time. Its id names the sort and the value, because neither is in the row's id. */
function positionIn({ sort, order }: RunFilter, row: RunRow): Position {
  if (sort === 'started' && order === 'desc') return { at: row.started_at, id: row.run_id };
  return { at: row.started_at, id: `${sort} ${order} ${row.sort_value ?? ''} ${row.run_id}` };
}

/** @throws ProblemException 400 if the cursor belongs to another sort */
function valueIn({ sort, order }: RunFilter, { id }: Position): { readonly value: string; readonly runId: string } {
  const [, foundSort, foundOrder, value = '', runId = ''] = /^(\w+) (desc|asc) (-?[\d.]*) (.+)$/s.exec(id) ?? [];
  if (foundSort === sort && foundOrder === order && (sort === 'started' || value !== '')) return { value, runId };
  const message = 'is a cursor of another sort or order; keep both while you page';
  throw new ProblemException(400, 'Validation failed', { details: [{ path: 'cursor', message }] });
}

function pageRows(db: ReadOnly, tenantId: string, filter: RunFilter) {
  const { sort, order, cursor } = filter;
  const value = sort === 'started' ? sql`started_at` : SORT_VALUES[sort];
  let query = matchingRuns(db, tenantId, filter)
    .selectAll()
    .select(
      sort === 'started' ? sql<string | null>`null`.as('sort_value') : sql<string>`(${value})::text`.as('sort_value'),
    );
  if (cursor !== undefined) {
    const isNewest = sort === 'started' && order === 'desc';
    const after = isNewest ? { value: '', runId: cursor.id } : valueIn(filter, cursor);
    const start = sort === 'started' ? sql`${cursor.at}::timestamptz` : sql`${after.value}::numeric`;
    const before = sql.raw(order === 'desc' ? '<' : '>');
    query = query.where(sql<boolean>`(${value}, run_id) ${before} (${start}, ${after.runId})`);
  }
  return query
    .orderBy(value, order)
    .orderBy('run_id', order)
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

/** The runs that match a filter, as a query to order, page or count. */
export function matchingRuns(db: ReadOnly, tenantId: string, filter: RunFacetsQuery) {
  let query = db.selectFrom('runs').where('tenant_id', '=', tenantId);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.status !== undefined) query = query.where('status', 'in', filter.status);
  if (filter.sessionId !== undefined) query = query.where('session_id', '=', filter.sessionId);
  if (filter.parentRunId !== undefined) query = query.where('parent_run_id', '=', filter.parentRunId);
  if (filter.actorId !== undefined) query = query.where('actor_id', '=', filter.actorId);
  if (filter.model !== undefined) query = query.where('model', '=', filter.model);
  if (filter.minCostUsd !== undefined) query = query.where('cost_usd', '>=', filter.minCostUsd);
  if (filter.maxCostUsd !== undefined) query = query.where('cost_usd', '<=', filter.maxCostUsd);
  if (filter.from !== undefined) query = query.where('started_at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('started_at', '<=', filter.to);
  if (filter.minDurationMs !== undefined) query = query.where(sql<boolean>`${DURATION_MS} >= ${filter.minDurationMs}`);
  if (filter.maxDurationMs !== undefined) query = query.where(sql<boolean>`${DURATION_MS} <= ${filter.maxDurationMs}`);
  if (filter.hasError !== undefined)
    query = query.where(sql<boolean>`(error_count > 0 or status = 'failed') = ${filter.hasError}`);
  if (filter.wasBlocked !== undefined)
    query = query.where(sql<boolean>`${hasBlockedCall(tenantId)} = ${filter.wasBlocked}`);
  if (filter.search !== undefined) query = query.where(containsText(NAMES, filter.search));
  if (filter.tags !== undefined) query = query.where(hasAnyTag(filter.tags));
  for (const tag of filter.tagsAll ?? []) query = query.where(hasAnyTag([tag]));
  if (filter.ruleId !== undefined) query = query.where(firedBy(tenantId, filter.ruleId));
  return query;
}

const DURATION_MS = sql`extract(epoch from coalesce(ended_at, last_event_at) - started_at) * 1000`;

function hasBlockedCall(tenantId: string) {
  return sql`exists (select from decisions where decisions.tenant_id = ${tenantId} and decisions.run_id = runs.run_id
    and decisions.effect in ('block', 'terminate'))`;
}

/** Ids, names and tags of a run, one a line. The range of time bounds how many runs are read. */
const NAMES = sql<string>`concat_ws(e'\\n', run_id, agent_id, session_id, actor_id, model, array_to_string(tags, e'\\n'), run_tags::text)`;

/** Searches tags. `name=value` matches a tag of the run; any text matches a tag of the run's events. */
function hasAnyTag(tags: readonly string[]) {
  const named = tags.flatMap((tag) => {
    const equals = tag.indexOf('=');
    return equals < 1 ? [] : [JSON.stringify({ [tag.slice(0, equals)]: tag.slice(equals + 1) })];
  });
  return sql<boolean>`(tags && ${tags}::text[] or run_tags @> any(${named}::jsonb[]))`;
}

function firedBy(tenantId: string, ruleId: string) {
  return sql<boolean>`(
    run_id in (select run_id from guardrail_triggers where tenant_id = ${tenantId} and rule_id = ${ruleId})
    or run_id in (select run_id from decisions where tenant_id = ${tenantId} and final_rule_id = ${ruleId}))`;
}

function decisionRows(db: ReadOnly, tenantId: string, runId: string, query: RunDecisionsQuery) {
  let rows = selectDecisions(db, tenantId).where('run_id', '=', runId);
  if (query.cursor !== undefined) {
    rows = rows.where(sql<boolean>`(decided_at, decision_id) > (${query.cursor.at}::timestamptz, ${query.cursor.id})`);
  }
  return rows
    .orderBy('decided_at', 'asc')
    .orderBy('decision_id', 'asc')
    .limit(query.limit + 1)
    .offset(query.offset)
    .execute();
}
