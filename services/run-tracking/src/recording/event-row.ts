import type { AgentEvent, EventBatch } from '@agentlens/contracts';

/**
 * An event as a row of the type `event_row`. Nobody looked into it: what is of another type than its column is refused
 * where it is written down, what else no event can have by the statement.
 */
export function eventRow({ tenantId, receivedAt }: EventBatch, event: AgentEvent): Readonly<Record<string, unknown>> {
  const { usage } = event;
  return {
    tenant_id: tenantId,
    occurred_at: event.occurredAt,
    event_id: event.id,
    run_id: event.runId,
    agent_id: event.agentId,
    session_id: event.sessionId,
    kind: event.kind,
    dialect: event.dialect,
    source_type: event.sourceType,
    severity: event.severity,
    is_error: event.isError,
    tool_name: event.toolName,
    call_id: event.callId,
    model: event.model,
    provider: event.provider,
    input_tokens: whole(usage?.inputTokens),
    output_tokens: whole(usage?.outputTokens),
    total_tokens: whole(usage?.totalTokens),
    cost_usd: usage?.costUsd === undefined ? undefined : String(usage.costUsd),
    cost_source: usage?.costSource,
    latency_ms: usage?.latencyMs,
    tags: event.tags,
    payload: event.payload,
    metadata: event.metadata,
    hash: event.hash,
    received_at: receivedAt,
  };
}

function whole(count: number | undefined): number | undefined {
  return count === undefined ? undefined : Math.round(count);
}
