import { RowArray } from '@agentlens/database';
import { type AgentTally, type Run, type RunTotals, statusOf, sumOfAll, type Tally, usdOf } from '@agentlens/runs';
import type { RowTypes } from './row-types.ts';

type Row = Readonly<Record<string, unknown>>;

/** What a tally adds to the tables, as arrays of `run_row`, `agent_row` and `day_row`. */
export interface TotalRows {
  readonly runs: Buffer;
  readonly agents: Buffer;
  readonly days: Buffer;
}

/** @throws RangeError where a total is too big to be exact. */
export function totalRows(tallies: ReadonlyMap<string, Tally>, types: RowTypes): TotalRows {
  const runs = new RowArray(types.run_row);
  const agents = new RowArray(types.agent_row);
  const days = new RowArray(types.day_row);
  for (const [tenantId, tally] of tallies) {
    for (const run of tally.runs.values()) runs.add(runRow(tenantId, run));
    for (const agent of tally.agents.values()) {
      agents.add(agentRow(tenantId, agent));
      for (const [day, totals] of agent.days) days.add(dayRow(tenantId, agent.agentId, day, totals));
    }
  }
  return { runs: runs.toBuffer(), agents: agents.toBuffer(), days: days.toBuffer() };
}

function runRow(tenantId: string, run: Run): Row {
  const totals = exact(run.totals);
  return {
    tenant_id: tenantId,
    run_id: run.runId,
    agent_id: run.agentId,
    first_place: run.firstPlace,
    agent_name: run.agentName?.value,
    name_place: run.agentName?.place,
    model: run.model?.value.model,
    provider: run.model?.value.provider,
    model_place: run.model?.place,
    status: statusOf(run),
    ended_at: run.end?.value.at,
    end_place: run.end?.place,
    session_id: run.sessionId,
    parent_run_id: run.parentRunId,
    parent_tool_use_id: run.parentToolUseId,
    started_at: run.startedAt,
    last_event_at: run.lastEventAt,
    ...sharedColumns(totals),
    total_tokens: totals.totalTokens,
    unpriced_count: totals.unpriced,
    tags: run.tags,
    cache_read_tokens: totals.cacheReadTokens,
    cache_write_tokens: totals.cacheWriteTokens,
    step_count: totals.steps,
    actor: run.actor?.value,
    actor_id: run.actor?.value.externalId,
    actor_place: run.actor?.place,
    run_tags: run.runTags,
    ttl_ms: run.ttlMs,
    heartbeat_every_ms: run.heartbeatEveryMs,
    result: run.result?.value,
    result_place: run.result?.place,
    error_message: run.errorMessage?.value,
    error_place: run.errorMessage?.place,
  };
}

function agentRow(tenantId: string, { agentId, name, registration, firstSeenAt, lastSeenAt, days }: AgentTally): Row {
  const { slug, description, tags, tools } = registration;
  const { events, errors, microUsd } = sumOfAll(days.values());
  return {
    tenant_id: tenantId,
    agent_id: agentId,
    name: name?.value,
    name_place: name?.place,
    first_seen_at: firstSeenAt,
    last_seen_at: lastSeenAt,
    event_count: events,
    error_count: errors,
    cost_usd: String(usdOf(microUsd)),
    slug,
    description: description?.value,
    description_place: description?.place,
    tags: tags?.value,
    tags_place: tags?.place,
    ...(tools.size > 0 && {
      tools: Array.from(tools.values(), ({ value }) => value),
      tool_places: Object.fromEntries(Array.from(tools, ([tool, { place }]) => [tool, place])),
    }),
  };
}

function dayRow(tenantId: string, agentId: string, day: string, known: RunTotals): Row {
  return { tenant_id: tenantId, agent_id: agentId, day, ...sharedColumns(exact(known)) };
}

/** What runs and days of agents both keep. */
function sharedColumns(totals: RunTotals): Row {
  return {
    event_count: totals.events,
    error_count: totals.errors,
    tool_call_count: totals.toolCalls,
    tool_error_count: totals.toolErrors,
    llm_call_count: totals.llmCalls,
    input_tokens: totals.inputTokens,
    output_tokens: totals.outputTokens,
    cost_usd: String(usdOf(totals.microUsd)),
  };
}

function exact(totals: RunTotals): RunTotals {
  for (const total of Object.values(totals)) {
    if (!Number.isSafeInteger(total)) throw new RangeError('a total is too big');
  }
  return totals;
}
