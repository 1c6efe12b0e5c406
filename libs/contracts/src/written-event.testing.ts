import type { AgentEvent, EventBatch } from './events.ts';

/** A batch without its events, as the gateway writes it down. */
export const envelope: Omit<EventBatch, 'events'> = {
  id: 'b-1',
  tenantId: 'acme',
  partition: '07',
  receivedAt: '2026-03-01T12:00:00.000Z',
};

/** An event with no contents of its client. */
export const event: AgentEvent = {
  id: '01987d3e-0000-7000-8000-000000000001',
  agentId: 'agent "1"',
  runId: 'session-1',
  kind: 'tool.completed',
  dialect: 'agentlens',
  sourceType: 'tool_response',
  severity: 'info',
  isError: false,
  occurredAt: '2026-03-01T12:00:00.000Z',
  retryable: false,
  hash: 'fc8b26b9',
  usage: { latencyMs: 41 },
  toolName: undefined,
  payload: {},
  metadata: {},
};
