import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sha256Hex } from '#sha256';
import { canonicalForm } from './canonical-form.ts';
import { batchBody, writeEvent } from './event-json.ts';
import { AgentEvent } from './events.ts';
import { envelope, event } from './written-event.testing.ts';

describe('the text of a batch', () => {
  it('parses to the same as the output of JSON.stringify', () => {
    const events = [event, { ...event, id: 'second', agentName: 'Zoë 🙂' }].map((one) => ({
      ...one,
      hash: writeEvent(one).hash,
    }));
    const batch = { ...envelope, events };
    const texts = batch.events.map((one) => writeEvent(one).json);
    const body = batchBody(batch, texts, bytesOf(texts));
    expect(JSON.parse(body.toString('utf8'))).toEqual(JSON.parse(JSON.stringify(batch)));
  });

  it('is rejected if its events do not have the given number of bytes', () => {
    const texts = [writeEvent({ ...event, agentId: 'Zoë' }).json];
    expect(() => batchBody(envelope, texts, bytesOf(texts) - 1)).toThrow(/do not end where they should/);
    expect(() => batchBody(envelope, texts, bytesOf(texts) + 1)).toThrow(/do not end where they should/);
  });
});

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
}

describe('the text of an event', () => {
  const text = fc.string({ unit: 'binary' }).map((value) => value.toWellFormed());
  const contents = fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }));

  it('parses to the same as the output of JSON.stringify for any contents', () => {
    fc.assert(
      fc.property(contents, contents, (payload, metadata) => {
        const full = { ...event, payload, metadata };
        const { hash, json } = writeEvent(full);
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ ...full, hash })));
      }),
    );
  });

  it('includes every member and quotes every text', () => {
    const full: Required<AgentEvent> = {
      ...event,
      sessionId: 's "1"',
      parentRunId: 'p\\1',
      parentToolUseId: 'p\n2',
      actorId: '"ann"',
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

  it('contains the hash of its canonical form', () => {
    fc.assert(
      fc.property(contents, contents, text, (payload, metadata, id) => {
        const full = { ...event, payload, metadata, id };
        expect(writeEvent(full).hash).toBe(sha256Hex(canonicalForm(full)));
      }),
    );
  });

  it('keeps its contents if the hash covers only its identity', () => {
    const identity = { ...event, payload: {} };
    const { hash, json } = writeEvent({ ...event, payload: { n: 1 } }, identity);
    expect(hash).toBe(sha256Hex(canonicalForm(identity)));
    expect(JSON.parse(json).payload).toEqual({ n: 1 });
  });
});
