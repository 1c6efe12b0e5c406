import { OTLP_DIALECT } from '@agentlens/contracts';
import type { RunsTable } from '@agentlens/database';
import type { RunEndedBy, RunNotice, ToolTotals } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { controlStates } from '../control/control-states.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { type AgentResultCall, type AgentResultStory, agentResult, MAX_LISTED } from './agent-result.ts';
import { noticesOf } from './run-notices.ts';
import { ofRun, spanOfRow, spanOfRun } from './run-span.ts';
import { governedBy, IDLE_AFTER_MS, runFromRow } from './run-view.ts';

interface RunStory extends AgentResultStory {
  readonly notices: readonly RunNotice[];
  readonly endedBy: RunEndedBy | null;
}

type OfRun = ReturnType<typeof ofRun>;

const MAX_TOOLS = 100;
/** Maximum number of model calls to check for duplicate reports by two instrumentations. */
const MAX_MODEL_CALLS = 2_000;
/** Larger arguments and results are read from their events. */
const MAX_INLINE_BYTES = 4_096;

@Injectable()
export class RunDetailQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async get(tenantId: string, runId: string) {
    const story = await this.reads.read(tenantId, (db) => this.#story(db, tenantId, runId));
    return (
      story && {
        ...story.run,
        tools: story.tools,
        summary: agentResult(story),
        notices: story.notices,
        endedBy: story.endedBy,
      }
    );
  }

  /** Whether the run is running, reported recently and has no order to stop. Returns undefined for an unknown run. */
  async isActive(tenantId: string, runId: string): Promise<boolean | undefined> {
    const since = new Date(this.clock.now() - IDLE_AFTER_MS).toISOString();
    return this.reads.read(tenantId, async (db) => {
      if ((await spanOfRun(db, tenantId, runId)) === undefined) return undefined;
      const active = await db
        .selectFrom('runs')
        .select('run_id')
        .where('tenant_id', '=', tenantId)
        .where('run_id', '=', runId)
        .where('status', '=', 'running')
        .where(sql<boolean>`greatest(last_event_at, heartbeat_at) >= ${since}::timestamptz`)
        .where(
          sql<boolean>`not exists (
            select from control_orders o where o.tenant_id = ${tenantId} and o.scope = 'run' and o.scope_id = ${runId}
              and o.state = 'killed')`,
        )
        .executeTakeFirst();
      return active !== undefined;
    });
  }

  async #story(db: ReadOnly, tenantId: string, runId: string): Promise<RunStory | undefined> {
    const row = await db
      .selectFrom('runs')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('run_id', '=', runId)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const mine = ofRun(tenantId, runId, spanOfRow(row));
    const controlOf = await controlStates(db, tenantId, [governedBy(row)]);
    return {
      run: runFromRow(row, this.clock.now(), controlOf(governedBy(row))),
      result: row.result,
      errorMessage: row.error_message,
      tools: await toolTotals(db, mine),
      models: await modelsOf(db, mine),
      notices: await noticesAbout(db, mine),
      endedBy: await endingDecision(db, tenantId, row),
      calls: [
        ...(await withInputs(db, mine, await endedCalls(db, mine, 'tool.completed'))),
        ...(await endedCalls(db, mine, 'llm.completed')),
      ],
    };
  }
}

/** Runs that went no further than a refusal; a killed run names its order instead. */
const CUT_OFF: readonly string[] = ['interrupted', 'failed', 'lost'];

/** The decision of the rule that ended the run, or else the refusal of a breaker or budget that it was left with. */
async function endingDecision(
  db: ReadOnly,
  tenantId: string,
  run: Pick<Selectable<RunsTable>, 'run_id' | 'status' | 'ended_by'>,
): Promise<RunEndedBy | null> {
  if (run.ended_by === null && !CUT_OFF.includes(run.status)) return null;
  const { rows } = await sql<Omit<RunEndedBy, 'ruleId'> & { ruleId: string | null }>`
    select decision_id as "decisionId", reason, final_rule_id as "ruleId", message, decided_at as at
    from decisions
    where tenant_id = ${tenantId} and run_id = ${run.run_id} and verdict = 'BLOCK' and control = 'TERMINATE'
      and cause->>'kind' <> 'HITL_PENDING' and (${run.ended_by}::text is null or decision_id = ${run.ended_by})
    order by decided_at desc limit 1`.execute(db);
  const [found] = rows;
  if (found === undefined) return null;
  const { ruleId, ...rest } = found;
  return { ...rest, ...(ruleId === null ? {} : { ruleId }) };
}

async function toolTotals(db: ReadOnly, mine: OfRun): Promise<ToolTotals[]> {
  const { rows } = await sql<{
    tool: string;
    calls: number;
    errors: number;
    mean: number | null;
    p50: number;
    p95: number;
    max: number;
  }>`
    select tool_name as tool, count(*) as calls, count(*) filter (where is_error) as errors,
      round(avg(latency_ms)::numeric, 3) as mean, max(latency_ms) as max,
      percentile_cont(0.5) within group (order by latency_ms) as p50,
      percentile_cont(0.95) within group (order by latency_ms) as p95
    from events
    where ${mine} and kind = 'tool.completed' and tool_name is not null
    group by tool_name order by calls desc, tool_name limit ${MAX_TOOLS}`.execute(db);
  return rows.map(({ tool, calls, errors, mean, p50, p95, max }) => ({
    tool,
    calls,
    errors,
    errorRate: errors / calls,
    latencyMs: mean === null ? null : { mean, p50, p95, max },
  }));
}

async function modelsOf(db: ReadOnly, mine: OfRun): Promise<AgentResultStory['models']> {
  const { rows } = await sql<AgentResultStory['models'][number]>`
    select model, provider, count(*) as calls from events
    where ${mine} and kind = 'llm.completed' and model is not null
    group by model, provider order by calls desc, model limit ${MAX_TOOLS}`.execute(db);
  return rows;
}

async function noticesAbout(db: ReadOnly, mine: OfRun): Promise<readonly RunNotice[]> {
  const { rows } = await sql<{
    agentId: string;
    endedAt: string;
    latencyMs: number | null;
    scope: string | null;
    isCounted: boolean;
    countedScope: string | null;
  }>`
    select agent_id as "agentId", occurred_at as "endedAt", latency_ms as "latencyMs",
      metadata->'otlp'->>'scope' as scope, kind = 'llm.completed' as "isCounted",
      payload->'countedAs'->>'scope' as "countedScope"
    from events
    where ${mine} and dialect = ${OTLP_DIALECT} and (kind = 'llm.completed' or source_type = 'duplicate_model_call')
    order by occurred_at, event_id limit ${MAX_MODEL_CALLS}`.execute(db);
  return noticesOf(
    rows.map(({ agentId, endedAt, latencyMs, scope, isCounted, countedScope }) => ({
      agentId,
      scope: scope ?? '',
      startMs: Date.parse(endedAt) - (latencyMs ?? 0),
      endMs: Date.parse(endedAt),
      ...(isCounted ? {} : { countedScope: countedScope ?? scope ?? '' }),
    })),
  );
}

/** Reads one call more than is listed, to detect that more exist. */
async function endedCalls(db: ReadOnly, mine: OfRun, kind: AgentResultCall['kind']): Promise<AgentResultCall[]> {
  const { rows } = await sql<AgentResultCall>`
    select event_id as "eventId", occurred_at as at, kind, tool_name as "toolName", call_id as "callId",
      is_error as "isError", latency_ms as "latencyMs", model, provider, input_tokens as "inputTokens",
      output_tokens as "outputTokens", cost_usd as "costUsd", ${small('result')} as output,
      left(coalesce(payload#>>'{error,message}', payload->>'error'), 2000) as error,
      coalesce(${small('arguments')}, ${small('args')}) as input
    from events
    where ${mine} and kind = ${kind}
    order by occurred_at, event_id limit ${MAX_LISTED + 1}`.execute(db);
  return rows;
}

/** Adds the arguments that some clients send only when a call starts, not with its result. */
async function withInputs(db: ReadOnly, mine: OfRun, calls: AgentResultCall[]): Promise<AgentResultCall[]> {
  const missing = calls.flatMap(({ callId, input }) => (callId === null || input !== null ? [] : [callId]));
  if (missing.length === 0) return calls;
  const { rows } = await sql<{ callId: string; input: unknown }>`
    select distinct on (call_id) call_id as "callId", ${small('arguments')} as input
    from events
    where ${mine} and kind = 'tool.called' and call_id = any(${missing}::text[])
    order by call_id, occurred_at`.execute(db);
  const inputs = new Map(rows.map(({ callId, input }) => [callId, input]));
  return calls.map((call) => ({ ...call, input: call.input ?? inputs.get(call.callId ?? '') ?? null }));
}

/** Selects a payload member unless it is large. */
function small(member: string) {
  return sql`case when pg_column_size(payload->${sql.lit(member)}) <= ${sql.lit(MAX_INLINE_BYTES)} then payload->${sql.lit(member)} end`;
}
