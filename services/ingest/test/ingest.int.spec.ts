import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { each } from '@agentlens/messaging';
import { ApiKeys, ensureBootstrapKey } from '@agentlens/platform';
import {
  eventually,
  type FreshDatabase,
  freshDatabase,
  startNats,
  startRedis,
  type TestServer,
} from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anEventBody, noted } from './gateway.ts';
import { type GatewayInstance, openInstance } from './gateway-instance.ts';

/** Two instances of the gateway on one NATS, one Redis and one Postgres, as in production. */
describe('the gateway on real servers', () => {
  let nats: TestServer;
  let redis: TestServer;
  let database: FreshDatabase;
  let one: GatewayInstance;
  let two: GatewayInstance;
  let key: string;
  const stored: EventBatch[] = [];

  beforeAll(async () => {
    [nats, redis, database] = await Promise.all([startNats(), startRedis(), freshDatabase()]);
    const servers = { nats, redis, database };
    one = await openInstance(servers);
    two = await openInstance(servers);
    key = (await ensureBootstrapKey(one.platform)) ?? '';
    await one.platform.bus.consume(
      agentEvents,
      { group: 'recorder' },
      each(async ({ value }) => {
        stored.push(value);
        return { kind: 'ack' };
      }),
    );
  });

  afterAll(async () => {
    for (const instance of [one, two]) await instance.close();
    await Promise.all([nats.stop(), redis.stop(), database.drop()]);
  });

  async function post({ app }: GatewayInstance, events: unknown[], headers: Record<string, string> = {}, by = key) {
    const {
      statusCode,
      headers: fields,
      body,
    } = await app.inject({
      method: 'POST',
      url: '/api/events',
      headers: { authorization: `Bearer ${by}`, ...headers },
      payload: { events },
    });
    return { status: statusCode, headers: fields, body: JSON.parse(body) };
  }

  it('returns 201 for events that are stored in the stream', async () => {
    const answer = await post(one, [noted(1), anEventBody({ id: 'int-1' })]);
    expect(answer.status).toBe(201);
    const ids = answer.body.events.map(({ id }: { id: string }) => id);
    await eventually(() => {
      expect(stored.flatMap(({ events }) => events.map(({ id }) => id))).toEqual(expect.arrayContaining(ids));
    });
    expect(stored[0]?.tenantId).toBe('default');
  });

  it('recognises a retry that reaches another instance', async () => {
    const headers = { 'idempotency-key': 'int-batch' };
    const events = Array.from({ length: 100 }, (_, n) => noted(n));
    const first = await post(one, events, headers);
    const retry = await post(two, events, headers);
    expect(retry).toMatchObject({ status: 201, body: first.body });
    expect((await post(two, [noted(8)], headers)).status).toBe(422);
    const marker = await post(one, [noted(9)]);
    const id = marker.body.events[0].id;
    await eventually(() => expect(stored.some(({ events }) => events.some((event) => event.id === id))).toBe(true));
    const copies = stored.filter(({ events }) => events.some((event) => event.id === first.body.events[0].id));
    expect(copies).toHaveLength(1);
  });

  it('knows on every instance what an id stands for', async () => {
    await post(one, [{ ...noted(1), id: 'int-2' }]);
    expect((await post(two, [{ ...noted(1), id: 'int-2' }])).status).toBe(201);
    expect((await post(two, [{ ...noted(2), id: 'int-2' }])).status).toBe(409);
  });

  it('accepts keys of the ingest scope that are not revoked', async () => {
    const { platform } = one;
    const keys = new ApiKeys(platform.database('query'), platform.bus, platform.clock, platform.logger);
    const made = await keys.create({ tenantId: 'default', name: 'agent', scopes: ['ingest'], eventsPerSecond: 5 });
    const answer = await post(two, [noted(1)], {}, made.key);
    expect(answer).toMatchObject({ status: 201, headers: { 'ratelimit-policy': '"events";q=5;w=1' } });
    await keys.revoke('default', made.id);
    await eventually(async () => expect((await post(two, [noted(1)], {}, made.key)).status).toBe(401));
  });

  it('works without Redis, except for retries that it would have to remember', async () => {
    await redis.kill();
    expect((await post(one, [noted(1)])).status).toBe(201);
    const answer = await post(one, [noted(1)], { 'idempotency-key': 'int-away' });
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': expect.any(String) } });
    await redis.start();
    await eventually(async () => {
      expect((await post(one, [noted(1)], { 'idempotency-key': 'int-away' })).status).toBe(201);
    });
  });

  it('returns 503 with Retry-After without NATS, and accepts events again when it is back', async () => {
    await nats.kill();
    const answer = await post(one, [noted(1)]);
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': expect.any(String) } });
    await nats.start();
    await eventually(async () => expect((await post(one, [noted(1)])).status).toBe(201), { timeoutMs: 30_000 });
  });
});
