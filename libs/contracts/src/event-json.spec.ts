import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalContents } from './canonical-form.ts';
import { batchJson, eventJson } from './event-json.ts';
import type { AgentEvent } from './events.ts';

const event: AgentEvent = {
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

describe('the text of a batch', () => {
  it('reads as what JSON.stringify writes', () => {
    const envelope = { id: 'b-1', tenantId: 'acme', partition: '07', receivedAt: '2026-03-01T12:00:00.000Z' };
    const batch = { ...envelope, events: [event, { ...event, id: 'second' }] };
    const texts = batch.events.map((one) => eventJson(one, canonicalContents(one)));
    expect(JSON.parse(batchJson(batch, texts))).toEqual(JSON.parse(JSON.stringify(batch)));
  });
});

describe('the text of an event', () => {
  it('reads as what JSON.stringify writes, whatever its contents', () => {
    const contents = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(contents, contents, (payload, metadata) => {
        const full = { ...event, payload, metadata };
        expect(JSON.parse(eventJson(full, canonicalContents(full)))).toEqual(JSON.parse(JSON.stringify(full)));
      }),
    );
  });
});
