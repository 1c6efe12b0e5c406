import { eventually, freePort, startRedis, type TcpProxy, type TestServer, tcpProxy } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { anAdvance, batchOf, fresh, START_MS, sliding, sums } from '../contract/requests.ts';
import { type StateStores, StateUnavailable } from '../state-stores.ts';
import { connectRedisState } from './redis-state.ts';

let server: TestServer;
let proxy: TcpProxy;
let state: StateStores;

beforeAll(async () => {
  server = await startRedis();
  proxy = await tcpProxy(server.url);
  state = await connectRedisState({ url: proxy.url });
});

afterAll(async () => {
  await state?.close();
  await proxy?.close();
  await server?.stop();
});

// Also after a failed test, so that it does not fail the next one.
afterEach(async () => {
  proxy.mode('pass');
  proxy.reset();
  await eventually(async () => {
    await state.windows.read('acme', 'agent', START_MS, [sliding(1)]);
    expect(state.healthy()).toBe(true);
  });
});

describe('unreachable Redis', () => {
  it('is a typed error for windows, cooldowns and idempotency keys', async () => {
    proxy.mode('blackhole');
    const claim = {
      tenantId: 'acme',
      agentId: 'a',
      ruleId: 'r',
      dryRun: false,
      triggerId: 't',
      atMs: 0,
      cooldownMs: 1000,
    };
    const outcomes = await Promise.allSettled([
      state.windows.advance(anAdvance()),
      state.windows.read('acme', 'agent', START_MS, [sliding(1)]),
      state.cooldowns.claim(claim),
      state.idempotency.remember('acme', 'key', { bodyHash: 'x', receivedAtMs: START_MS }),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StateUnavailable) });
    }
  });

  it('is a typed error for call histories, breakers and budgets', async () => {
    proxy.mode('blackhole');
    const run = { tenantId: 'acme', agentId: 'a', runId: 'r' };
    const outcomes = await Promise.allSettled([
      state.calls.read(run),
      state.breakers.read({ tenantId: 'acme', agentId: 'a', refs: [{ scope: 'run', scopeId: 'r' }] }),
      state.budgets.balances('acme', [], START_MS),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StateUnavailable) });
    }
  });

  it('leaves quotas to a bucket per process, and conflicts to the database', async () => {
    proxy.mode('blackhole');
    const key = fresh('key');
    // Each waits for Redis until its timeout, and a bucket is forgotten when it would be full: slow enough to outlive that.
    const perSecond = 0.001;
    expect(await state.quota.take(key, 1, perSecond, START_MS)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await state.quota.take(key, 1, perSecond, START_MS)).toMatchObject({ allowed: false });
    expect(await state.idempotency.conflicts('acme', [{ id: 'event', hash: 'x' }])).toEqual([]);
  });

  it('is used again after a half-open connection, and a redelivered message is counted once', async () => {
    const request = batchOf(fresh('agent'), sliding(1), START_MS, [{ atMs: START_MS, value: 2 }]);
    proxy.mode('half-open');
    await expect(state.windows.advance(request)).rejects.toBeInstanceOf(StateUnavailable);
    proxy.mode('pass');
    await eventually(() => state.windows.advance(request));
    await state.windows.advance(request);
    expect(sums(await state.windows.read('acme', request.agentId, START_MS, [sliding(1)]))).toEqual([
      { count: 1, sum: 2 },
    ]);
  });

  it('keeps its counts across a crash of the server', async () => {
    const request = batchOf(fresh('agent'), sliding(1), START_MS, [{ atMs: START_MS, value: 2 }]);
    const first = await state.windows.advance(request);
    await server.restart();
    expect(await eventually(() => state.windows.advance(request))).toEqual(first);
    expect(sums(await state.windows.read('acme', request.agentId, START_MS, [sliding(1)]))).toEqual([
      { count: 1, sum: 2 },
    ]);
  });

  it('fails the start', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    await expect(connectRedisState({ url, connectWithinMs: 300 })).rejects.toThrow(
      /did not answer connecting: .*ECONNREFUSED/,
    );
  });
});
