import type { AgentEvent, CostSource, EventKind, Severity, Usage } from '@agentlens/contracts';
import type { EventsTable } from '@agentlens/database';
import type { StoredEvent } from '@agentlens/operations';
import type { Selectable } from 'kysely';
import { describeOrigin } from './usage-origin.ts';

/** Converts a row to an event. */
export function eventFromRow(row: Selectable<EventsTable>): StoredEvent {
  const { dialect, metadata, pricing } = row;
  const counts = { inputTokens: row.input_tokens ?? undefined, outputTokens: row.output_tokens ?? undefined };
  const costSource = (row.cost_source ?? undefined) as CostSource | undefined;
  const origin = describeOrigin({ dialect, metadata, usage: { ...(pricing as Usage | null), ...counts, costSource } });
  return {
    id: row.event_id,
    timestamp: row.occurred_at,
    sessionId: row.run_id,
    agentId: row.agent_id,
    eventType: row.source_type,
    severity: row.severity as Severity,
    payload: row.payload,
    metadata: row.metadata,
    ...(row.content_expired === true && { contentExpired: true as const }),
    prevHash: null,
    hash: row.hash,
    tenantId: row.tenant_id,
    kind: row.kind as EventKind,
    dialect: row.dialect,
    isError: row.is_error,
    tags: row.tags,
    toolName: row.tool_name,
    callId: row.call_id,
    model: row.model,
    provider: row.provider,
    usage: {
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      totalTokens: row.total_tokens,
      costUsd: row.cost_usd,
      costSource: row.cost_source as CostSource | null,
      latencyMs: row.latency_ms,
      ...(origin === undefined ? {} : { origin }),
    },
    receivedAt: row.received_at,
  };
}

/** Converts an event from the stream, which may not be stored yet, to the same shape. */
export function eventFromBatch(event: AgentEvent, batch: { tenantId: string; receivedAt: string }): StoredEvent {
  const usage = event.usage ?? {};
  const origin = describeOrigin({ dialect: event.dialect, metadata: event.metadata, usage });
  return {
    id: event.id,
    timestamp: event.occurredAt,
    sessionId: event.runId,
    agentId: event.agentId,
    eventType: event.sourceType,
    severity: event.severity,
    payload: event.payload,
    metadata: event.metadata,
    prevHash: null,
    hash: event.hash,
    tenantId: batch.tenantId,
    kind: event.kind,
    dialect: event.dialect,
    isError: event.isError,
    tags: event.tags ?? [],
    toolName: event.toolName ?? null,
    callId: event.callId ?? null,
    model: event.model ?? null,
    provider: event.provider ?? null,
    usage: {
      inputTokens: usage.inputTokens ?? null,
      outputTokens: usage.outputTokens ?? null,
      totalTokens: usage.totalTokens ?? null,
      costUsd: usage.costUsd === undefined ? null : microDollars(usage.costUsd),
      costSource: usage.costSource ?? null,
      latencyMs: usage.latencyMs ?? null,
      ...(origin === undefined ? {} : { origin }),
    },
    receivedAt: batch.receivedAt,
  };
}

/** Rounds to the precision in which costs are stored. */
function microDollars(usd: number): number {
  return Math.round(usd * 1e6) / 1e6;
}
