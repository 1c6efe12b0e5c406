import type { RunsTable } from '@agentlens/database';
import type { Session, SessionStatus } from '@agentlens/operations';
import type { Selectable } from 'kysely';
import { endOf, IDLE_AFTER_MS } from '../runs/run-view.ts';

/**
 * Maps a run's end to the four session states of AgentLens. A run that timed out, was interrupted or was lost did not
 * finish its task, so it is an error. A run that its operator cancelled is completed.
 */
export const RUN_STATUSES_OF = {
  completed: ['succeeded', 'cancelled'],
  error: ['failed', 'timed_out', 'interrupted', 'lost', 'killed'],
} as const;

/** Returns the AgentLens session state of a run at `nowMs`. */
export function sessionStatus(run: { status: string; last_event_at: string }, nowMs: number): SessionStatus {
  if (run.status === 'running') return nowMs - Date.parse(run.last_event_at) > IDLE_AFTER_MS ? 'idle' : 'active';
  return (RUN_STATUSES_OF.completed as readonly string[]).includes(run.status) ? 'completed' : 'error';
}

export function sessionFromRow(row: Selectable<RunsTable>, nowMs: number): Session {
  return {
    id: row.run_id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    ...present('agentName', row.agent_name),
    startedAt: row.started_at,
    ...present('endedAt', endOf(row)),
    status: sessionStatus(row, nowMs),
    runStatus: row.status,
    lastEventAt: row.last_event_at,
    eventCount: row.event_count,
    toolCallCount: row.tool_call_count,
    errorCount: row.error_count,
    totalCostUsd: row.cost_usd,
    unpricedCount: row.unpriced_count,
    llmCallCount: row.llm_call_count,
    totalInputTokens: row.input_tokens,
    totalOutputTokens: row.output_tokens,
    totalTokens: row.total_tokens,
    tags: row.tags,
    ...present('model', row.model),
    ...present('provider', row.provider),
    ...present('groupId', row.session_id),
    ...present('parentSessionId', row.parent_run_id),
  };
}

function present<K extends string>(key: K, value: string | null): { [key in K]?: string } {
  return value === null ? {} : ({ [key]: value } as { [key in K]: string });
}
