import { type Columns, JsonText } from '@agentlens/database';
import type { ChunkEvent } from './chunk-events.ts';

/**
 * An event as a row of the type `event_row`. Nobody looked into it: what is of another type than its column is refused
 * where it is written down, what else no event can have by the statement.
 */
export const EVENT_COLUMNS: Columns<ChunkEvent> = {
  tenant_id: ({ batch }) => batch.tenantId,
  occurred_at: ({ event }) => event.occurredAt,
  event_id: ({ event }) => event.id,
  run_id: ({ event }) => event.runId,
  agent_id: ({ event }) => event.agentId,
  session_id: ({ event }) => event.sessionId,
  kind: ({ event }) => event.kind,
  dialect: ({ event }) => event.dialect,
  source_type: ({ event }) => event.sourceType,
  severity: ({ event }) => event.severity,
  is_error: ({ event }) => event.isError,
  tool_name: ({ event }) => event.toolName,
  call_id: ({ event }) => event.callId,
  model: ({ event }) => event.model,
  provider: ({ event }) => event.provider,
  input_tokens: ({ event }) => whole(event.usage?.inputTokens),
  output_tokens: ({ event }) => whole(event.usage?.outputTokens),
  total_tokens: ({ event }) => whole(event.usage?.totalTokens),
  cost_usd: ({ event }) => (event.usage?.costUsd === undefined ? undefined : String(event.usage.costUsd)),
  cost_source: ({ event }) => event.usage?.costSource,
  latency_ms: ({ event }) => event.usage?.latencyMs,
  tags: ({ event }) => event.tags,
  payload: ({ payload }) => new JsonText(payload),
  metadata: ({ metadata }) => new JsonText(metadata),
  hash: ({ event }) => event.hash,
  received_at: ({ batch }) => batch.receivedAt,
};

function whole(count: number | undefined): number | undefined {
  return count === undefined ? undefined : Math.round(count);
}
