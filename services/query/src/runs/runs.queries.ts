import {
  type DecisionView,
  RUN_DECISIONS_LIST,
  RUN_EVENTS_LIST,
  RUNS_LIST,
  type Run,
  type RunDecisionsQuery,
  type RunEventsQuery,
  type RunFacetsQuery,
  type RunFilter,
  withEnds,
} from '@agentlens/operations';
import { CLOCK, type Clock } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { controlStates } from '../control/control-states.ts';
import { eventPage } from '../events/event-page.ts';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import type { WrittenPage } from '../http/written-page.ts';
import { decisionFromRow, selectDecisions } from './decision-view.ts';
import { eventsOfRun, spanOfRun } from './run-span.ts';
import { governedBy, runFromRow } from './run-view.ts';

@Injectable()
export class RunsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: RunFilter): Promise<Page<Run>> {
    const now = this.clock.now();
    const { rows, controlOf } = await this.reads.read(tenantId, async (db) => {
      const rows = await pageRows(db, tenantId, withEnds(filter, now));
      return { rows, controlOf: await controlStates(db, tenantId, rows.map(governedBy)) };
    });
    const positionOf = (row: { started_at: string; run_id: string }) => ({ at: row.started_at, id: row.run_id });
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

function pageRows(db: ReadOnly, tenantId: string, filter: RunFilter) {
  let query = matchingRuns(db, tenantId, filter).selectAll();
  if (filter.cursor !== undefined) {
    query = query.where(sql<boolean>`(started_at, run_id) < (${filter.cursor.at}::timestamptz, ${filter.cursor.id})`);
  }
  return query
    .orderBy('started_at', 'desc')
    .orderBy('run_id', 'desc')
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
  if (filter.tags !== undefined) query = query.where(hasAnyTag(filter.tags));
  if (filter.ruleId !== undefined) query = query.where(firedBy(tenantId, filter.ruleId));
  return query;
}

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
