import { JsonObject } from '@agentlens/contracts';
import type { RunsTable } from '@agentlens/database';
import type { Selectable } from 'kysely';
import { z } from 'zod';
import { endOf, IDLE_AFTER_MS, RUN_STATUSES } from '../sessions/session.ts';

export const RunTotals = z
  .object({
    events: z.int(),
    errors: z.int().meta({ description: 'Each event counts once, whatever makes it an error.' }),
    steps: z.int().meta({ description: 'Tool calls that came to an end.' }),
    toolCalls: z.int(),
    toolErrors: z.int(),
    llmCalls: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    totalTokens: z.int(),
    cacheReadTokens: z.int(),
    cacheWriteTokens: z.int(),
    costUsd: z.number(),
    unpricedCalls: z.int().meta({ description: 'Model calls whose cost is not known and not in costUsd.' }),
  })
  .meta({ id: 'RunTotals' });
export type RunTotals = z.infer<typeof RunTotals>;

export const Run = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    agentName: z.string().optional(),
    sessionId: z.string().optional().meta({ description: 'Groups runs, where the client says so.' }),
    parentRunId: z.string().optional(),
    parentToolUseId: z.string().optional(),
    status: z.enum(RUN_STATUSES),
    idle: z.boolean().meta({ description: 'Running, and nothing was heard of it for five minutes.' }),
    startedAt: z.string(),
    lastEventAt: z.string(),
    endedAt: z.string().optional(),
    durationMs: z.int().meta({ description: 'Until its end, or until its last event.' }),
    step: z.int().meta({ description: 'The current step: tool calls that came to an end so far.' }),
    actor: JsonObject.optional().meta({ description: 'On whose behalf it runs; `externalId` is what to filter by.' }),
    model: z.string().optional(),
    provider: z.string().optional(),
    tags: z.array(z.string()).meta({ description: 'Of its events.' }),
    runTags: z.record(z.string(), z.string()).meta({ description: 'Of the run as a whole, by name.' }),
    ttlMs: z.int().optional(),
    heartbeatEveryMs: z.int().optional(),
    lastHeartbeatAt: z.string().optional(),
    totals: RunTotals,
  })
  .meta({ id: 'Run' });
export type Run = z.infer<typeof Run>;

type RunRow = Selectable<RunsTable>;

export function runFromRow(row: RunRow, nowMs: number): Run {
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

function totalsFromRow(row: RunRow): RunTotals {
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
