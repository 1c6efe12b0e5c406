import { guardrailTriggered, JsonObject, type Topic } from '@agentlens/contracts';
import { connectNatsBus } from '@agentlens/messaging';
import { aTrigger, eventually, startNats, tcpProxy } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

const LAG = '/api/system/lag';
const LETTERS = '/api/system/dead-letters';

/** A topic without validation, like a publisher in another language. */
const careless: Topic<JsonObject> = {
  ...guardrailTriggered,
  schema: JsonObject,
  subject: () => 'guardrail.triggered.acme.rule-1',
  messageId: () => 'malformed',
  cloudEvent: undefined,
};

describe('/api/system', () => {
  let api: OperatorApi;
  const large = aTrigger({ tenantId: 'acme', message: 'é'.repeat(20_000) });
  const theirs = aTrigger({ tenantId: 'globex', message: 'their-secret' });

  beforeAll(async () => {
    api = await startOperatorApi();
    const options = { group: 'action-dispatcher' };
    await api.bus.consume(guardrailTriggered, options, async (messages) =>
      messages.map(() => ({ kind: 'poison', reason: 'cannot be recorded' })),
    );
    await api.bus.publish(careless, { nonsense: true });
    await api.bus.publish(guardrailTriggered, theirs);
    await api.bus.publish(guardrailTriggered, large);
    await eventually(async () => expect(await api.bus.deadLetters()).toHaveLength(3));
  });
  afterAll(() => api.close());

  it('shows an admin the dead letters of its tenant in pages, with contents on request', async () => {
    const first = await api.get(`${LETTERS}?limit=1`);
    expect(first.body).toMatchObject({
      deadLetters: [
        {
          ...{ group: 'action-dispatcher', topic: 'guardrail.triggered', subject: 'guardrail.triggered.acme.rule-1' },
          ...{ messageId: 'malformed', tenantId: 'acme', deliveryCount: 1, bytes: 17 },
          reason: expect.stringContaining('does not fit topic'),
        },
      ],
      ...{ total: 2, hasMore: true },
    });
    expect(first.body.deadLetters[0]).not.toHaveProperty('content');
    const rest = await api.get(`${LETTERS}?content=true&cursor=${first.body.nextCursor}`);
    const [letter, ...more] = rest.body.deadLetters;
    expect(rest.body).toMatchObject({ hasMore: false });
    expect(rest.body).not.toHaveProperty('total');
    expect(more).toEqual([]);
    expect(letter).toMatchObject({ messageId: large.id, reason: 'cannot be recorded', contentCut: true });
    expect(JSON.stringify(large).startsWith(letter.content.slice(0, 10_000))).toBe(true);
    expect(Buffer.byteLength(letter.content)).toBeLessThanOrEqual(16 * 1024 + 2);
    const whole = await api.get(`${LETTERS}?content=true&limit=1`);
    expect(whole.body.deadLetters[0]).toMatchObject({ content: '{"nonsense":true}', contentCut: false });
  });

  it('shows the scope platform all dead letters without contents', async () => {
    const { key } = api.keys.platform;
    const { body } = await api.get(LETTERS, key);
    expect(body.deadLetters.map(({ tenantId }: { tenantId: string }) => tenantId)).toEqual(['acme', 'globex', 'acme']);
    expect(body.total).toBe(3);
    expect(JSON.stringify(body)).not.toContain('their-secret');
    expect(await api.get(`${LETTERS}?content=true`, key)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });

  it('rejects a cursor that it did not issue', async () => {
    const forged = Buffer.from('{"v":1,"list":"dead-letters","at":"2026-01-01T00:00:00.000Z","id":"x"}');
    expect(await api.get(`${LETTERS}?cursor=${forged.toString('base64url')}`)).toMatchObject({
      ...{ status: 400, body: { details: [{ path: 'cursor' }] } },
    });
  });

  it('shows the lag of each consumer', async () => {
    const { body } = await api.get(LAG);
    expect(body.consumers.map(({ group }: { group: string }) => group)).toEqual([
      ...['run-tracking', 'run-tracking-decisions', 'guardrail-evaluator'],
      ...['action-dispatcher', 'action-dispatcher-breakers', 'action-dispatcher-acks'],
    ]);
    expect(body.consumers[3]).toEqual({
      ...{ group: 'action-dispatcher', topic: 'guardrail.triggered' },
      ...{ pending: 0, unacknowledged: 0, redelivered: 0, oldestAgeMs: null },
    });
    expect((await api.get(LAG, api.keys.admin.key)).status).toBe(403);
  });
});

describe('/api/system over NATS', () => {
  it('reads from the broker, and returns 503 when the broker does not answer', async () => {
    const server = await startNats();
    const proxy = await tcpProxy(server.url);
    const bus = await connectNatsBus({ servers: proxy.url, name: 'system' });
    const api = await startOperatorApi(bus);
    try {
      const held = Promise.withResolvers<never>();
      held.promise.catch(() => undefined);
      await bus.consume(guardrailTriggered, { group: 'action-dispatcher' }, () => held.promise);
      await bus.publish(guardrailTriggered, aTrigger());
      await eventually(async () => {
        const { body } = await api.get(LAG);
        expect(body.consumers[3]).toMatchObject({ pending: 0, unacknowledged: 1, oldestAgeMs: expect.any(Number) });
      });
      expect((await api.get(LETTERS)).body).toEqual({ deadLetters: [], total: 0, hasMore: false });

      proxy.mode('blackhole');
      for (const url of [LAG, LETTERS]) {
        const silent = await api.get(url);
        expect(silent).toMatchObject({ status: 503, body: { error: 'The message broker does not answer' } });
      }
      held.reject(new Error('let go'));
      proxy.mode('pass');
      proxy.reset();
      await eventually(async () => expect((await api.get(LAG)).status).toBe(200));
    } finally {
      await api.close();
      await bus.close();
      await proxy.close();
      await server.stop();
    }
  });
});
