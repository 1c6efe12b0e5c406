import { eventually, startRedis, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { anAdvance, batchOf, START_MS, sliding } from '../contract/requests.ts';
import type { StateStores } from '../state-stores.ts';
import { connect, type RedisConnection } from './connection.ts';
import { connectRedisState } from './redis-state.ts';

const LEASE_MS = 60_000;

let server: TestServer;
let state: StateStores;
let redis: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  state = await connectRedisState({ url: server.url });
  redis = await connect({ url: server.url });
});
afterAll(async () => {
  await state.close();
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
});

describe('the marker of complete windows', () => {
  const look = (leaseMs = LEASE_MS) => state.windows.marker.look(leaseMs);

  const turn = async () => {
    const found = await look();
    if (found.kind !== 'lost') throw new Error(`the windows are not lost but ${found.kind}`);
    return found.turn;
  };

  it('tells one caller of a loss, and the others that it is being seen to', async () => {
    const found = await Promise.all([look(), look(), look()]);
    expect(found.map(({ kind }) => kind).sort()).toEqual(['lost', 'recounting', 'recounting']);
  });

  it('says since when everything is counted, until all is lost', async () => {
    expect(await state.windows.marker.recounted(await turn(), START_MS)).toBe(true);
    expect([await look(), await look()]).toEqual(Array(2).fill({ kind: 'since', atMs: START_MS }));
    await redis.flushall();
    expect((await look()).kind).toBe('lost');
  });

  it('takes nobody at his word whose turn was lost with what he had counted', async () => {
    const { marker } = state.windows;
    const first = await turn();
    expect(await marker.holds(first)).toBe(true);
    await redis.flushall();
    const second = await turn();
    expect([await marker.holds(first), await marker.holds(second)]).toEqual([false, true]);
    expect(await marker.recounted(first, START_MS)).toBe(false);
    expect(await look()).toEqual({ kind: 'recounting' });
    expect(await marker.recounted(second, START_MS)).toBe(true);
  });

  it('gives the turn to another one where the first did not finish in time', async () => {
    await look(50);
    await eventually(async () => expect((await look()).kind).toBe('lost'));
  });

  it('takes windows that are there already for whole, and an empty store for lost', async () => {
    await state.windows.marker.adopt();
    expect((await look()).kind).toBe('lost');
    await redis.flushall();
    await state.windows.advance(anAdvance(batchOf('agent', sliding(1), START_MS, [{ atMs: START_MS, value: 1 }])));
    await state.windows.marker.adopt();
    expect(await look()).toEqual({ kind: 'since', atMs: 0 });
  });
});
