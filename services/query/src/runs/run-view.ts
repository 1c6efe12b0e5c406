import type { RunsTable } from '@agentlens/database';
import type { ControlStateView, Run, RunTotalsAnswer } from '@agentlens/operations';
import type { Selectable } from 'kysely';

/** A running run is shown as idle after this time without an event. */
export const IDLE_AFTER_MS = 5 * 60_000;

type RunRow = Selectable<RunsTable>;

export function runFromRow(row: RunRow, nowMs: number, control: ControlStateView): Run {
  const endedAt = endOf(row);
  return {
    id: row.run_id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    ...present('agentName', row.agent_name),
    ...present('sessionId', row.session_id),
    ...present('parentRunId', row.parent_run_id),
    ...present('parentToolUseId', row.parent_tool_use_id),
    status: row.status,
    idle: row.status === 'running' && nowMs - Date.parse(row.last_event_at) > IDLE_AFTER_MS,
    control,
    startedAt: row.started_at,
    lastEventAt: row.last_event_at,
    ...present('endedAt', endedAt),
    durationMs: Math.max(0, Date.parse(endedAt ?? row.last_event_at) - Date.parse(row.started_at)),
    step: row.step_count,
    ...present('actor', row.actor),
    ...present('model', row.model),
    ...present('provider', row.provider),
    tags: row.tags,
    runTags: row.run_tags,
    ...present('ttlMs', row.ttl_ms),
    ...present('heartbeatEveryMs', row.heartbeat_every_ms),
    ...present('lastHeartbeatAt', row.heartbeat_at),
    totals: totalsFromRow(row),
  };
}

/** The key for looking up the control state of a run. */
export function governedBy({ agent_id, run_id }: Pick<RunRow, 'agent_id' | 'run_id'>) {
  return { agentId: agent_id, runId: run_id };
}

function totalsFromRow(row: RunRow): RunTotalsAnswer {
  return {
    events: row.event_count,
    errors: row.error_count,
    steps: row.step_count,
    toolCalls: row.tool_call_count,
    toolErrors: row.tool_error_count,
    llmCalls: row.llm_call_count,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    totalTokens: row.total_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    costUsd: row.cost_usd,
    unpricedCalls: row.unpriced_count,
  };
}

function present<K extends string, T>(key: K, value: T | null): { [key in K]?: T } {
  return value === null ? {} : ({ [key]: value } as { [key in K]: T });
}

/** End of a run. A run that the platform ended has no end event: its end is its last event, or its deadline. */
export function endOf(row: Selectable<RunsTable>): string | null {
  if (row.ended_at !== null || row.status === 'running') return row.ended_at;
  if (row.killed_at !== null) return row.killed_at;
  const timeIsUp = row.ttl_ms === null ? 0 : Date.parse(row.started_at) + row.ttl_ms;
  if (row.status !== 'timed_out' || timeIsUp <= Date.parse(row.last_event_at)) return row.last_event_at;
  return new Date(timeIsUp).toISOString();
}
