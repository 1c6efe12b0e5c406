import { canonicalForm, derivedId, sha256Hex } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { anEventBody, type Gateway, hangingConsumer, NOW, noted, startGateway } from './gateway.ts';

describe('POST /api/events', () => {
  let gateway: Gateway;
  beforeEach(async () => {
    gateway = await startGateway();
  });
  afterEach(() => gateway.close());

  it('returns 201 with an id and a hash per event, in request order', async () => {
    const events = Array.from({ length: 300 }, (_, n) => ({ ...noted(n), agentId: `agent-${n % 7}`, id: `e-${n}` }));
    const answer = await gateway.post({ events });
    expect(answer.status).toBe(201);
    expect(answer.body.ingested).toBe(300);
    expect(answer.body.events.map(({ id }: { id: string }) => id)).toEqual(events.map(({ id }) => id));
    const hashes = new Map(gateway.events().map(({ id, hash }) => [id, hash]));
    for (const { id, hash } of answer.body.events) expect(hashes.get(id)).toBe(hash);
  });

  it('publishes batches of one tenant and partition', async () => {
    await gateway.post({ events: Array.from({ length: 200 }, (_, n) => ({ ...noted(n), agentId: `agent-${n % 5}` })) });
    expect(gateway.batches.length).toBeLessThanOrEqual(5);
    expect(gateway.events()).toHaveLength(200);
    for (const batch of gateway.batches) expect(batch).toMatchObject({ tenantId: 'acme', receivedAt: NOW });
  });

  it('hashes the documented canonical form, so that clients can verify it', async () => {
    const { body } = await gateway.post({ events: [anEventBody({ tags: ['x'], metadata: { a: 1 } })] });
    const [event] = gateway.events();
    expect(event && sha256Hex(canonicalForm(event))).toBe(body.events[0].hash);
  });

  it('takes the tenant only from the key', async () => {
    await gateway.post({ events: [anEventBody()] }, { key: gateway.keys.foreign });
    expect(gateway.batches.map(({ tenantId }) => tenantId)).toEqual(['globex']);
    const answer = await gateway.post({ events: [anEventBody({ tenantId: 'globex' })] });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: 'events.0.tenantId' }] } });
    expect((await gateway.post({ events: [anEventBody({ tenantId: 'acme' })] })).status).toBe(201);
  });

  it('keeps a large payload whole, with its cost', async () => {
    const payload = {
      callId: 'l1',
      model: 'gpt-4o',
      provider: 'openai',
      completion: 'x'.repeat(200_000),
      finishReason: 'stop',
      usage: { inputTokens: 1000, outputTokens: 500, totalTokens: 1500 },
      latencyMs: 5,
      costUsd: 0.25,
    };
    expect((await gateway.post({ events: [anEventBody({ eventType: 'llm_response', payload })] })).status).toBe(201);
    expect(gateway.events()[0]).toMatchObject({ payload, usage: { costUsd: 0.25, costSource: 'reported' } });
  });

  it('prices what is not reported, and flags what it cannot price', async () => {
    const response = (model: string) =>
      anEventBody({ eventType: 'llm_response', payload: { callId: 'l', model, inputTokens: 1000, outputTokens: 500 } });
    await gateway.post({ events: [response('gpt-4o'), response('house-model-1')] });
    const [known, unknown] = gateway.events();
    expect(known).toMatchObject({ provider: 'openai', usage: { costUsd: 0.0075, costSource: 'priced' } });
    expect(unknown).toMatchObject({ provider: 'unknown', usage: { costSource: 'unpriced' } });
    expect(unknown?.usage).not.toHaveProperty('costUsd');
  });

  it('splits what does not fit one message', async () => {
    const big = { type: 'big', data: { text: 'x'.repeat(240_000) } };
    const events = Array.from({ length: 9 }, () => anEventBody({ payload: big }));
    expect((await gateway.post({ events })).body.ingested).toBe(9);
    expect(gateway.batches.length).toBeGreaterThan(1);
    for (const batch of gateway.batches) expect(Buffer.byteLength(JSON.stringify(batch))).toBeLessThan(1_000_000);
    expect(gateway.events()).toHaveLength(9);
  });

  it('merges small requests that arrive together', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => gateway.post({ events: [noted(n)] })));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    expect(gateway.batches.length).toBeLessThan(20);
    const published = new Map(gateway.events().map((event) => [event.id, event.payload]));
    answers.forEach(({ body }, n) => {
      expect(published.get(body.events[0].id)).toEqual(noted(n).payload);
    });
  });

  describe('time', () => {
    it.each([
      ['the timestamp', { timestamp: '2026-03-01T12:30:00+01:00' }, '2026-03-01T11:30:00.000Z'],
      ['the time inside the id', { id: derivedId(Date.parse('2026-03-01T11:00:00Z'), 1) }, '2026-03-01T11:00:00.000Z'],
      ['the arrival', {}, NOW],
      ['the arrival, for an id whose time means nothing', { id: '01ARYZ6S41TSV4RRFFQ69G5FAV' }, NOW],
    ])('is %s', async (_what, fields, occurredAt) => {
      await gateway.post({ events: [anEventBody(fields)] });
      expect(gateway.events()[0]?.occurredAt).toBe(occurredAt);
    });

    it('is the first arrival for an id without a time, however late the retry', async () => {
      const first = await gateway.post({ events: [anEventBody({ id: 'call-7' })] });
      gateway.clock.advance(60_000);
      const retry = await gateway.post({ events: [anEventBody({ id: 'call-7' })] });
      expect(retry.body).toEqual(first.body);
      expect(gateway.events().map(({ occurredAt }) => occurredAt)).toEqual([NOW, NOW]);
    });
  });

  describe('retries', () => {
    it('under one Idempotency-Key return the same events', async () => {
      const events = [noted(1), noted(2), anEventBody({ agentId: 'agent-2' })];
      const headers = { 'idempotency-key': 'batch-1' };
      const first = await gateway.post({ events }, { headers });
      const firstEvents = gateway.events();
      gateway.clock.advance(30_000);
      const retry = await gateway.post({ events: events.map(withKeysReversed) }, { headers });
      expect(retry.status).toBe(201);
      expect(retry.body).toEqual(first.body);
      expect(gateway.events()).toEqual([...firstEvents, ...firstEvents]);
      expect(firstEvents.every(({ retryable }) => retryable)).toBe(true);
    });

    it('under one Idempotency-Key produce the same message if the request fills it alone', async () => {
      const events = hundred();
      const headers = { 'idempotency-key': 'batch-1' };
      await gateway.post({ events }, { headers });
      gateway.clock.advance(30_000);
      expect((await gateway.post({ events: events.map(withKeysReversed) }, { headers })).status).toBe(201);
      expect(gateway.batches).toHaveLength(1);
    });

    it('under one Idempotency-Key with another body get 422', async () => {
      const headers = { 'idempotency-key': 'batch-2' };
      await gateway.post({ events: [noted(1)] }, { headers });
      const answer = await gateway.post({ events: [noted(2)] }, { headers });
      expect(answer).toMatchObject({
        status: 422,
        body: { error: 'Idempotency-Key reused', status: 422, details: [{ path: 'headers.idempotency-key' }] },
      });
      expect(gateway.events()).toHaveLength(1);
    });

    it('keep the keys of tenants apart', async () => {
      const headers = { 'idempotency-key': 'batch-3' };
      await gateway.post({ events: [noted(1)] }, { headers });
      expect((await gateway.post({ events: [noted(2)] }, { headers, key: gateway.keys.foreign })).status).toBe(201);
    });

    it('of an event with an id are the same event, alone or with others', async () => {
      const event = { ...noted(1), id: 'mine-1', timestamp: NOW };
      const first = await gateway.post({ events: [event] });
      const retry = await gateway.post({ events: [noted(2), event] });
      expect(retry.body.events[1]).toEqual(first.body.events[0]);
    });

    it('of an id with other content get 409 with the path, and nothing else is lost', async () => {
      await gateway.post({ events: [{ ...noted(1), id: 'mine-1' }] });
      const answer = await gateway.post({ events: [noted(3), { ...noted(2), id: 'mine-1' }] });
      expect(answer).toMatchObject({ status: 409, body: { status: 409, details: [{ path: 'events.1.id' }] } });
      expect(gateway.events()).toHaveLength(1);
      const foreign = await gateway.post({ events: [{ ...noted(2), id: 'mine-1' }] }, { key: gateway.keys.foreign });
      expect(foreign.status).toBe(201);
    });

    it('inside one request: the same event counts once, other content under its id gets 409', async () => {
      const event = { ...noted(1), id: 'twice' };
      const same = await gateway.post({ events: [event, event] });
      expect(same.body.events[0]).toEqual(same.body.events[1]);
      expect(gateway.events()).toHaveLength(1);
      const other = { ...noted(2), id: 'other' };
      const answer = await gateway.post({ events: [other, { ...noted(3), id: 'other' }] });
      expect(answer).toMatchObject({ status: 409, body: { details: [{ path: 'events.1.id' }] } });
    });

    it('without id or key are new events', async () => {
      const first = await gateway.post({ events: [noted(1)] });
      const second = await gateway.post({ events: [noted(1)] });
      expect(second.body.events[0].id).not.toBe(first.body.events[0].id);
      expect(gateway.events()[0]?.retryable).toBe(false);
    });
  });

  describe('?partial=true', () => {
    it('accepts the valid events and returns 207 with a result for each, in request order', async () => {
      const events = [noted(1), anEventBody({ eventType: 'error' }), { ...noted(2), id: 'b' }, 7];
      const answer = await gateway.post({ events }, { query: '?partial=true' });
      expect(answer).toMatchObject({
        status: 207,
        body: {
          ingested: 2,
          rejected: 2,
          results: [
            { index: 0, status: 201, id: expect.any(String), hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
            { index: 1, status: 400, error: { status: 400, details: [{ path: 'events.1.eventType' }] } },
            { index: 2, status: 201, id: 'b' },
            { index: 3, status: 400, error: { details: [{ path: 'events.3', message: 'must be an object' }] } },
          ],
        },
      });
      expect(gateway.events()).toHaveLength(2);
    });

    it('returns 409 for a reused id among the others', async () => {
      await gateway.post({ events: [{ ...noted(1), id: 'a' }] });
      const { body } = await gateway.post({ events: [{ ...noted(2), id: 'a' }, noted(3)] }, { query: '?partial=true' });
      expect(body.results.map(({ status }: { status: number }) => status)).toEqual([409, 201]);
    });

    it('returns 207 even if nothing is accepted', async () => {
      const answer = await gateway.post({ events: [null] }, { query: '?partial=true' });
      expect(answer).toMatchObject({ status: 207, body: { ingested: 0, rejected: 1 } });
      expect(gateway.batches).toEqual([]);
    });

    it('publishes a retry again if more of it is accepted', async () => {
      const early = anEventBody({ timestamp: '2026-03-01T12:15:00Z' });
      const options = { query: '?partial=true', headers: { 'idempotency-key': 'k' } };
      await gateway.post({ events: [noted(1), early] }, options);
      gateway.clock.advance(10 * 60_000);
      const retry = await gateway.post({ events: [noted(1), early] }, options);
      expect(retry.body.ingested).toBe(2);
      expect(gateway.batches.map(({ events }) => events.length)).toEqual([1, 2]);
    });
  });

  describe('quota', () => {
    it('returns the remaining quota with every answer', async () => {
      const answer = await gateway.post({ events: [noted(1), noted(2)] }, { key: gateway.keys.slow });
      expect(answer.headers).toMatchObject({ 'ratelimit-policy': '"events";q=10;w=1', ratelimit: '"events";r=8;t=1' });
      const refused = await gateway.post({ events: [3] }, { key: gateway.keys.slow });
      expect(refused.status).toBe(400);
      expect(refused.headers.ratelimit).toBe('"events";r=7;t=1');
    });

    it('returns 429 with Retry-After over the quota, for this key only', async () => {
      const ten = { events: Array.from({ length: 10 }, (_, n) => noted(n)) };
      expect((await gateway.post(ten, { key: gateway.keys.slow })).status).toBe(201);
      const answer = await gateway.post(ten, { key: gateway.keys.slow });
      expect(answer).toMatchObject({
        status: 429,
        headers: { 'retry-after': '1', ratelimit: '"events";r=0;t=1', 'ratelimit-policy': '"events";q=10;w=1' },
        body: { error: 'Too Many Requests', status: 429, hint: expect.any(String) },
      });
      expect((await gateway.post(ten)).status).toBe(201);
      gateway.clock.advance(1_000);
      expect((await gateway.post(ten, { key: gateway.keys.slow })).status).toBe(201);
    });
  });
});

describe('a platform that cannot store events', () => {
  it('returns 503 with Retry-After and explains how to retry safely', async () => {
    const gateway = await startGateway({ bus: { publishDeadlineMs: 20 } });
    const consumer = await hangingConsumer(gateway.bus);
    const answer = await gateway.post({ events: [noted(1)] });
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
      body: {
        status: 503,
        error: 'The platform cannot keep events now',
        hint: expect.stringContaining('Idempotency-Key'),
      },
    });
    consumer.release();
    await gateway.close();
  });

  it('accepts nothing while too much is in flight, and continues afterwards', async () => {
    const gateway = await startGateway({ bus: { queue: { messages: 1_000, bytes: 128 * 1024 ** 2 } } });
    const consumer = await hangingConsumer(gateway.bus);
    // No two of them fit one message, and together they are 64 MiB.
    const data = { texts: Array.from({ length: 3 }, () => 'x'.repeat(250_000)) };
    const post = () => gateway.post({ events: [anEventBody({ payload: { type: 'note', data } })] });
    const waiting = Array.from({ length: 90 }, post);
    await eventually(() => expect(gateway.batches).toHaveLength(90));
    expect(await post()).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1', ratelimit: expect.any(String) },
      body: { error: 'The platform takes no more events at the moment' },
    });
    consumer.release();
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([201]));
    expect((await post()).status).toBe(201);
    await gateway.close();
  });

  it('answers accepted requests before it stops', async () => {
    const gateway = await startGateway();
    const consumer = await hangingConsumer(gateway.bus);
    const answer = gateway.post({ events: [noted(1)] });
    await eventually(() => expect(gateway.batches).toHaveLength(1));
    const closed = gateway.close();
    consumer.release();
    expect((await answer).status).toBe(201);
    await closed;
  });
});

/** Enough events for a message of their own. */
function hundred(): Record<string, unknown>[] {
  return Array.from({ length: 100 }, (_, n) => noted(n));
}

function withKeysReversed(event: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).reverse());
}
