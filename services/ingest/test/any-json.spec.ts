import { EventBatch } from '@agentlens/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anEventBody, type Gateway, noted, startGateway } from './gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());
beforeEach(() => {
  gateway.batches.length = 0;
});

/** Keys and values close to real ones, so that the deep paths are reached too. */
const EVENT_TYPE = fc.oneof(
  fc.constantFrom(
    'session_started',
    'session_ended',
    'tool_call',
    'tool_error',
    'llm_response',
    'cost_tracked',
    'custom',
  ),
  fc.jsonValue(),
);
const PAYLOAD_KEYS = [
  'type',
  'data',
  'callId',
  'toolName',
  'model',
  'usage',
  'costUsd',
  'reason',
  'inputTokens',
  'tags',
];
const payload = fc.dictionary(fc.constantFrom(...PAYLOAD_KEYS), fc.jsonValue({ stringUnit: 'binary' }));
const nearEvent = fc.record(
  {
    sessionId: fc.oneof(fc.constant('s'), fc.jsonValue()),
    agentId: fc.oneof(fc.constant('a'), fc.jsonValue()),
    eventType: EVENT_TYPE,
    severity: fc.oneof(fc.constantFrom('info', 'warning'), fc.jsonValue()),
    payload: fc.oneof(payload, fc.jsonValue()),
    metadata: fc.oneof(fc.constant({}), fc.jsonValue({ stringUnit: 'binary' })),
    timestamp: fc.oneof(fc.constant('2026-03-01T11:59:59+00:00'), fc.jsonValue()),
    id: fc.oneof(fc.string(), fc.jsonValue()),
    tags: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const anything = fc.oneof(nearEvent, fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }));

describe('any JSON', () => {
  it('as a body is accepted or gets a problem, never a 500', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.jsonValue(), fc.record({ events: fc.array(anything, { maxLength: 5 }) })),
        async (body) => {
          const answer = await gateway.post(body);
          expect([201, 400, 409]).toContain(answer.status);
          if (answer.status !== 201)
            expect(answer.body).toMatchObject({ error: expect.any(String), status: answer.status });
        },
      ),
      { numRuns: 150 },
    );
  });

  it('next to a valid event never causes its loss', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 5 }), fc.nat(5), async (others, position) => {
        gateway.batches.length = 0;
        const events = others.toSpliced(position, 0, noted(42));
        const index = Math.min(position, others.length);
        const answer = await gateway.post({ events }, { query: '?partial=true' });
        expect(answer.status).toBe(207);
        expect(answer.body.ingested + answer.body.rejected).toBe(events.length);
        const good = answer.body.results[index];
        expect(good).toMatchObject({ index, status: 201 });
        for (const batch of gateway.batches) expect(EventBatch.safeParse(batch).error).toBeUndefined();
        expect(gateway.events().filter(({ id }) => id === good.id)).toMatchObject([{ payload: noted(42).payload }]);
      }),
      { numRuns: 150 },
    );
  });

  it('gets the same answer when it is sent again under one key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { minLength: 1, maxLength: 4 }), fc.uuid(), async (events, key) => {
        const options = { query: '?partial=true', headers: { 'idempotency-key': key } };
        const first = await gateway.post({ events }, options);
        gateway.clock.advance(5);
        const retry = await gateway.post({ events }, options);
        const receipts = ({ results }: { results: { status: number; id?: string; hash?: string }[] }) =>
          results.map(({ status, id, hash }) => ({ status, id, hash }));
        expect(receipts(retry.body)).toEqual(receipts(first.body));
      }),
      { numRuns: 100 },
    );
  });

  it('in payload and metadata is stored as it was sent', async () => {
    const object = fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 5 }));
    await fc.assert(
      fc.asyncProperty(object, object, async (data, metadata) => {
        const text = JSON.stringify([data, metadata]);
        fc.pre(!text.includes('\\u0000') && !text.includes('__proto__'));
        gateway.batches.length = 0;
        const answer = await gateway.post({ events: [anEventBody({ payload: { type: 't', data }, metadata })] });
        expect(answer.status).toBe(201);
        expect(gateway.events()[0]).toMatchObject({
          payload: { data: JSON.parse(text)[0] },
          metadata: JSON.parse(text)[1],
        });
      }),
      { numRuns: 100 },
    );
  });
});
