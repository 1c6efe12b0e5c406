import { OTLP_DIALECT } from '@agentlens/contracts';
import { type RunsTable, runLine } from '@agentlens/database';
import type { Run, RunTotalsAnswer, TraceAgent } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { controlStates } from '../control/control-states.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { ofRun, spanOfRow } from './run-span.ts';
import { governedBy, runFromRow } from './run-view.ts';
import { type AgentSpan, type TraceCall, traceAgents } from './trace-agents.ts';

export interface TreeNode extends Run {
  readonly depth: number;
  readonly childCount: number;
  /** Totals of this run and all its descendants. */
  readonly rolledUp: RunTotalsAnswer;
}

const MICRO = 1e6;

/**
 * Orders a run and its descendants: each parent before its children, the earliest first. `runs` contains the root; runs
 * that are not connected to it are ignored. Every run counts once, even if parents form a cycle.
 */
export function runTree(rootId: string, runs: readonly Run[]): TreeNode[] {
  const root = runs.find(({ id }) => id === rootId);
  if (root === undefined) return [];
  const childrenOf = Map.groupBy(
    runs.filter(({ id }) => id !== rootId),
    ({ parentRunId }) => parentRunId,
  );
  return nodesOf(root, 0, childrenOf, new Set());
}

function nodesOf(
  run: Run,
  depth: number,
  childrenOf: ReadonlyMap<string | undefined, readonly Run[]>,
  seen: Set<string>,
): TreeNode[] {
  seen.add(run.id);
  const children = (childrenOf.get(run.id) ?? [])
    .filter(({ id }) => !seen.has(id))
    .toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const branches = children.map((child) => nodesOf(child, depth + 1, childrenOf, seen));
  const below = branches.flatMap(([top]) => (top === undefined ? [] : [top.rolledUp]));
  const rolledUp = [run.totals, ...below].reduce(sumOf);
  return [{ ...run, depth, childCount: children.length, rolledUp }, ...branches.flat()];
}

function sumOf(a: RunTotalsAnswer, b: RunTotalsAnswer): RunTotalsAnswer {
  const names = Object.keys(a) as (keyof RunTotalsAnswer)[];
  const sums = Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as unknown as RunTotalsAnswer;
  // Costs are rounded to millionths, because adding binary fractions drifts.
  return { ...sums, costUsd: Math.round((a.costUsd + b.costUsd) * MICRO) / MICRO };
}

const MAX_RUNS = 1_000;
const MAX_DEPTH = 20;
/** Maximum number of spans of a run to read for its agents, starting with the first. */
const MAX_SPANS = 10_000;

@Injectable()
export class RunTreeQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  /** The run and its ancestors, nearest first, and its session; undefined for an unknown run. */
  line(
    tenantId: string,
    runId: string,
  ): Promise<{ readonly runIds: readonly string[]; readonly sessionId: string | undefined } | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const runIds = await runLine(db, tenantId, runId);
      if (runIds === undefined) return undefined;
      const run = await db
        .selectFrom('runs')
        .select('session_id')
        .where('tenant_id', '=', tenantId)
        .where('run_id', '=', runId)
        .executeTakeFirst();
      return { runIds, sessionId: run?.session_id ?? undefined };
    });
  }

  /** Returns undefined for an unknown run. */
  async get(
    tenantId: string,
    runId: string,
  ): Promise<{ runs: TreeNode[]; truncated: boolean; agents: TraceAgent[] } | undefined> {
    const { rows, agents, controlOf } = await this.reads.read(tenantId, async (db) => {
      // Postgres evaluates the recursion row by row, so the limit ends it. The path detects cycles.
      const found = await sql<Selectable<RunsTable> & { depth: number }>`
        with recursive tree as (
          select run_id, 0 as depth, array[run_id] as path from runs where tenant_id = ${tenantId} and run_id = ${runId}
          union all
          select r.run_id, tree.depth + 1, tree.path || r.run_id
          from tree join runs r on r.tenant_id = ${tenantId} and r.parent_run_id = tree.run_id
          where tree.depth <= ${MAX_DEPTH} and r.run_id <> all(tree.path)
        )
        select runs.*, nearest.depth from (select * from tree limit ${MAX_RUNS + 1}) as nearest
        join runs on runs.tenant_id = ${tenantId} and runs.run_id = nearest.run_id`.execute(db);
      return {
        rows: found.rows,
        controlOf: await controlStates(db, tenantId, found.rows.map(governedBy)),
        agents: await agentsIn(
          db,
          tenantId,
          found.rows.find(({ run_id }) => run_id === runId),
        ),
      };
    });
    if (rows.length === 0) return undefined;
    const kept = rows
      .toSorted((a, b) => a.depth - b.depth)
      .filter(({ depth }) => depth <= MAX_DEPTH)
      .slice(0, MAX_RUNS);
    const now = this.clock.now();
    const runs = runTree(
      runId,
      kept.map((row) => runFromRow(row, now, controlOf(governedBy(row)))),
    );
    return { runs, truncated: kept.length < rows.length, agents };
  }
}

/** Returns the agents inside a run. Only a run built from spans has any. */
async function agentsIn(db: ReadOnly, tenantId: string, run: Selectable<RunsTable> | undefined): Promise<TraceAgent[]> {
  // Every run of spans with an agent inside has the end of one.
  if (run === undefined || run.agent_end_place === null) return [];
  const { rows } = await sql<SpanRow>`
    select kind, occurred_at, is_error, metadata->'otlp'->>'spanId' as span_id,
      metadata->'otlp'->>'parentSpanId' as parent_span_id, payload->>'agentName' as agent_name,
      coalesce(payload->>'agentName', payload->>'name') as name, payload->>'by' as by, payload->>'error' is not null as failed,
      coalesce((payload->>'durationMs')::double precision, 0) as duration_ms,
      coalesce(input_tokens, 0) as input_tokens, coalesce(output_tokens, 0) as output_tokens,
      coalesce(cost_usd, 0)::double precision as cost_usd
    from events
    where ${ofRun(tenantId, run.run_id, spanOfRow(run))} and dialect = ${OTLP_DIALECT}
      and kind in ('run.ended', 'llm.completed', 'tool.completed')
    order by occurred_at, event_id limit ${MAX_SPANS}`.execute(db);
  const spans = rows.filter(({ kind, by }) => kind === 'run.ended' && by !== 'root').map(agentOf);
  const calls = rows.filter(({ kind }) => kind !== 'run.ended').map(callOf);
  return traceAgents(spans, calls);
}

interface SpanRow {
  readonly kind: string;
  readonly occurred_at: string;
  readonly is_error: boolean;
  readonly span_id: string | null;
  readonly parent_span_id: string | null;
  readonly agent_name: string | null;
  readonly name: string | null;
  readonly by: string | null;
  readonly failed: boolean;
  readonly duration_ms: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number;
}

function agentOf({ span_id, parent_span_id, name, occurred_at, duration_ms, failed }: SpanRow): AgentSpan {
  const endMs = Date.parse(occurred_at);
  return {
    spanId: span_id ?? '',
    parentSpanId: parent_span_id ?? undefined,
    name: name ?? '',
    startMs: Math.floor(endMs - duration_ms),
    endMs,
    failed,
  };
}

function callOf({ kind, parent_span_id, agent_name, occurred_at, is_error, ...row }: SpanRow): TraceCall {
  return {
    parentSpanId: parent_span_id ?? undefined,
    agentName: agent_name ?? undefined,
    atMs: Date.parse(occurred_at),
    isModelCall: kind === 'llm.completed',
    isError: is_error,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    costUsd: row.cost_usd,
  };
}
