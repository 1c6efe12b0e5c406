import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { AgentEvent, EventBatch } from './events.ts';
import { readWrittenBatch } from './written-batch.ts';
import { bodyOf, deceptiveEvents, event as plainEvent } from './written-event.testing.ts';

const event: AgentEvent = { ...plainEvent, tags: ['],"metadata":{'] };

/** Parses everything. Returns undefined if the caller could detect a wrong division. */
function readOf(body: Uint8Array, count: number, most?: number): EventBatch | undefined {
  const batch = readWrittenBatch(body, most);
  if (batch?.events.length !== count) return undefined;
  try {
    const all = batch.events.map(({ facts, payload, metadata }) => ({
      ...facts,
      payload: JSON.parse(payload) as AgentEvent['payload'],
      metadata: JSON.parse(metadata) as AgentEvent['metadata'],
    }));
    return { ...batch, events: all };
  } catch {
    return undefined;
  }
}

describe('a written batch', () => {
  it('is read like JSON.parse reads it, or not at all', () => {
    fc.assert(
      fc.property(deceptiveEvents, fc.integer({ min: 1, max: 2_000 }), (all, most) => {
        const body = bodyOf(all);
        const read = readOf(body, all.length, most);
        if (read !== undefined) expect(read).toEqual(JSON.parse(body.toString('utf8')));
      }),
      { numRuns: 500 },
    );
  });

  it('is read if its contents do not resemble a separator', () => {
    const plain = { payload: { result: { rows: [{ n: 1 }, { n: 2 }] }, text: ',"payload":{}},{"id":"' }, metadata: {} };
    const body = bodyOf([{ ...event, ...plain }, event, { ...event, ...plain }]);
    const whole = JSON.parse(body.toString('utf8'));

    expect(readOf(body, 3)).toEqual(whole);
    // In three pieces.
    expect(readOf(body, 3, 1)).toEqual(whole);
  });

  it('keeps contents as they were written', () => {
    const text = bodyOf([{ ...event, payload: { n: 7 } }]).toString('utf8');
    const [one] = readWrittenBatch(Buffer.from(text.replace('"n":7', '"n":1e400')))?.events ?? [];

    expect(one?.payload).toBe('{"n":1e400}');
  });

  it.each([
    ['an object', '{}'],
    ['no JSON', '{"id":"b","events":['],
    ['with members after its contents', '{"id":"b","events":[{"id":"e","metadata":{},"payload":{},"kind":"x"}]}'],
    ['with contents in reverse order', '{"id":"b","events":[{"id":"e","payload":{},"metadata":{}}]}'],
    ['of none', '{"id":"b","events":[]}'],
    ['with nested facts', '{"id":"b","events":[{"id":"e","usage":{"n":1,"metadata":{},"payload":{}},"n":{"n":{}}}]}'],
  ])('is rejected if it is %s', (_what, text) => {
    expect(readOf(Buffer.from(text), 1)).toBeUndefined();
  });
});
