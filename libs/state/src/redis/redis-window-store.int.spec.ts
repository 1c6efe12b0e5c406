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

describe('window marker', () => {
  const look = (leaseMs = LEASE_MS) => state.windows.marker.look(leaseMs);

  const turn = async () => {
    const found = await look();
    if (found.kind !== 'lost') throw new Error(`expected lost windows, got ${found.kind}`);
    return found.turn;
  };

  it('reports a loss to one caller, and to the others that a recount is running', async () => {
    const found = await Promise.all([look(), look(), look()]);
    expect(found.map(({ kind }) => kind).sort()).toEqual(['lost', 'recounting', 'recounting']);
  });

  it('reports since when windows are complete, until they are lost', async () => {
    expect(await state.windows.marker.recounted(await turn(), START_MS)).toBe(true);
    expect([await look(), await look()]).toEqual(Array(2).fill({ kind: 'since', atMs: START_MS }));
    await redis.flushall();
    expect((await look()).kind).toBe('lost');
  });

  it('rejects a finished recount whose lease was lost in a second wipe', async () => {
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

  it('gives the lease to another caller if the first does not finish in time', async () => {
    await look(50);
    await eventually(async () => expect((await look()).kind).toBe('lost'));
  });

  it('treats existing windows as complete, and an empty store as lost', async () => {
    await state.windows.marker.adopt();
    expect((await look()).kind).toBe('lost');
    await redis.flushall();
    await state.windows.advance(anAdvance(batchOf('agent', sliding(1), START_MS, [{ atMs: START_MS, value: 1 }])));
    await state.windows.marker.adopt();
    expect(await look()).toEqual({ kind: 'since', atMs: 0 });
  });
});
