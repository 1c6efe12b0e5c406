import fc from 'fast-check';
import { batchBody, writeEvent } from './event-json.ts';
import type { AgentEvent, EventBatch } from './events.ts';

/** A batch without its events, as the gateway serializes it. */
export const envelope: Omit<EventBatch, 'events'> = {
  id: 'b-1',
  tenantId: 'acme',
  partition: '07',
  receivedAt: '2026-03-01T12:00:00.000Z',
};

/** An event without client contents. */
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

/** Serializes a batch as the gateway publishes it. */
export function bodyOf(events: readonly AgentEvent[]): Buffer {
  const texts = events.map((one) => writeEvent(one).json);
  return batchBody(envelope, texts, Buffer.byteLength(`${texts.join()},`));
}

/** Names that resemble the separators of a batch: as names, as texts and as structure. */
const names = fc.constantFrom('id', 'payload', 'metadata', 'events', 'a', '"', 'é', '","payload":', '}},{"id":');
const contents = fc.dictionary(
  names,
  fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.oneof(names, fc.integer(), fc.constant(null), fc.constant({ id: 1 })),
      fc.dictionary(names, tie('value')),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  })).value,
);

/** Events whose contents resemble the separators of a batch. */
export const deceptiveEvents: fc.Arbitrary<AgentEvent[]> = fc
  .array(fc.record({ payload: contents, metadata: contents }), { minLength: 1, maxLength: 4 })
  .map((all) => all.map((own, index) => ({ ...event, tags: ['],"metadata":{'], ...own, id: `e-${index}` })));
