import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { batchBody, writeEvent } from './event-json.ts';
import type { AgentEvent, EventBatch } from './events.ts';
import { readWrittenBatch } from './written-batch.ts';
import { envelope, event as plainEvent } from './written-event.testing.ts';

const event: AgentEvent = { ...plainEvent, tags: ['],"metadata":{'] };

/** What stands between the parts of a batch, as names, as texts and as the structure that is written so. */
const names = fc.constantFrom('id', 'payload', 'metadata', 'events', 'a', '"', '","payload":', '}},{"id":');
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
const events = fc
  .array(fc.record({ payload: contents, metadata: contents }), { minLength: 1, maxLength: 4 })
  .map((all) => all.map((own, index) => ({ ...event, ...own, id: `e-${index}` })));

function textOf(all: readonly AgentEvent[]): string {
  const texts = all.map((one) => writeEvent(one).json);
  return batchBody(envelope, texts, Buffer.byteLength(`${texts.join()},`)).toString('utf8');
}

/** Everything parsed; undefined where the caller would have seen that it is not divided rightly. */
function readOf(text: string, count: number): EventBatch | undefined {
  const batch = readWrittenBatch(text);
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
  it('is read as JSON.parse reads it, or not at all', () => {
    fc.assert(
      fc.property(events, (all) => {
        const text = textOf(all);
        const read = readOf(text, all.length);
        if (read !== undefined) expect(read).toEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  it('is read where its contents are none of what stands between the parts', () => {
    const plain = { payload: { result: { rows: [{ n: 1 }, { n: 2 }] }, text: ',"payload":{}},{"id":"' }, metadata: {} };
    const text = textOf([{ ...event, ...plain }, event, { ...event, ...plain }]);

    expect(readOf(text, 3)).toEqual(JSON.parse(text));
  });

  it('keeps contents as they were written', () => {
    const [one] =
      readWrittenBatch(textOf([{ ...event, payload: { n: 7 } }]).replace('"n":7', '"n":1e400'))?.events ?? [];

    expect(one?.payload).toBe('{"n":1e400}');
  });

  it.each([
    ['an object', '{}'],
    ['no JSON', '{"id":"b","events":['],
    ['of other members behind its contents', '{"id":"b","events":[{"id":"e","metadata":{},"payload":{},"kind":"x"}]}'],
    ['of contents the other way round', '{"id":"b","events":[{"id":"e","payload":{},"metadata":{}}]}'],
    ['of none', '{"id":"b","events":[]}'],
    ['of nested facts', '{"id":"b","events":[{"id":"e","usage":{"n":1,"metadata":{},"payload":{}},"n":{"n":{}}}]}'],
  ])('is none where it is %s', (_what, text) => {
    expect(readOf(text, 1)).toBeUndefined();
  });
});
