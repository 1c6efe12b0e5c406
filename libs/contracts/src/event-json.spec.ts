import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalForm, sha256Hex } from './canonical-form.ts';
import { batchJson, writeEvent } from './event-json.ts';
import { AgentEvent } from './events.ts';

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
    const events = [event, { ...event, id: 'second' }].map((one) => ({ ...one, hash: writeEvent(one).hash }));
    const batch = { ...envelope, events };
    const texts = batch.events.map((one) => writeEvent(one).json);
    expect(JSON.parse(batchJson(batch, texts))).toEqual(JSON.parse(JSON.stringify(batch)));
  });
});

describe('the text of an event', () => {
  const text = fc.string({ unit: 'binary' }).map((value) => value.toWellFormed());
  const contents = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }));

  it('reads as what JSON.stringify writes, whatever its contents', () => {
    fc.assert(
      fc.property(contents, contents, (payload, metadata) => {
        const full = { ...event, payload, metadata };
        const { hash, json } = writeEvent(full);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ ...full, hash })));
      }),
    );
  });

  it('forgets no member, and quotes every text', () => {
    const full: Required<AgentEvent> = {
      ...event,
      sessionId: 's "1"',
      parentRunId: 'p\\1',
      parentToolUseId: 'p\n2',
      agentName: '"name"',
      agentVersion: '"1"',
      toolName: '"tool"',
      callId: '"call"',
      model: '"m"',
      provider: '"p"',
      outcome: 'failed',
      usage: { inputTokens: 1, costUsd: 0.5, costSource: 'priced' },
      tags: ['"a"', 'é'],
      runId: 'session "1"',
      sourceType: '"tool"',
    };
    expect(Object.keys(full).sort()).toEqual(Object.keys(AgentEvent.shape).sort());
    const { hash, json } = writeEvent(full);
    expect(JSON.parse(json)).toEqual({ ...full, hash });
  });

  it('carries the hash of its canonical form', () => {
    fc.assert(
      fc.property(contents, contents, text, (payload, metadata, id) => {
        const full = { ...event, payload, metadata, id };
        expect(writeEvent(full).hash).toBe(sha256Hex(canonicalForm(full)));
      }),
    );
  });

  it('keeps its contents where the hash is over its identity only', () => {
    const identity = { ...event, payload: {} };
    const { hash, json } = writeEvent({ ...event, payload: { n: 1 } }, identity);
    expect(hash).toBe(sha256Hex(canonicalForm(identity)));
    expect(JSON.parse(json).payload).toEqual({ n: 1 });
  });
});
