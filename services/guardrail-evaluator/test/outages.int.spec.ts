import { agentEvents, COMMANDS, guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { migrate, openDatabase } from '@agentlens/database';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { AesSecretBox, createLogger, HealthRegistry } from '@agentlens/platform';
import { connectRedisState, createMemoryState, type StateStores } from '@agentlens/state';
import { aBatch, anEvent, eventually, freshDatabase, startRedis, tcpProxy } from '@agentlens/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { WiredEvaluator } from '../src/wire.ts';
import { startEvaluator } from './start-evaluator.ts';

const DRAFT = {
  name: 'Too many errors',
  conditionType: 'error_rate_threshold',
  conditionConfig: { threshold: 30 },
  actionType: 'pause_agent',
};

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function closeLater<T>(thing: T, close: (thing: T) => Promise<unknown>): T {
  closing.push(() => close(thing));
  return thing;
}

async function evaluatorOn(bus: EventBus, state: StateStores, databaseUrl: string): Promise<WiredEvaluator> {
  const database = openDatabase({ url: databaseUrl, role: 'guardrail-evaluator', maxConnections: 3 });
  closeLater(database, (open) => open.close());
  const { evaluator, stop } = await startEvaluator({
    bus,
    windows: state.windows,
    cooldowns: state.cooldowns,
    calls: state.calls,
    labels: state.labels,
    breakers: state.breakers,
    budgets: state.budgets,
    control: { stateOf: () => ({ kind: 'none', modelOverride: null }) },
    database,
    clock: Date,
    secrets: new AesSecretBox([Buffer.alloc(32, 5).toString('base64')]),
    egressPolicy: { allow: [] },
    logger: createLogger({ name: 'test', level: 'silent' }),
    health: new HealthRegistry(),
  });
  closeLater(evaluator, stop);
  return evaluator;
}

async function memoryBus(): Promise<{ bus: EventBus; triggers: Trigger[] }> {
  const bus = closeLater(createMemoryBus({ backOffMs: [20] }), (open) => open.close());
  const triggers: Trigger[] = [];
  await bus.watch(guardrailTriggered, { from: 'new' }, ({ value }) => triggers.push(value));
  return { bus, triggers };
}

const erring = () => aBatch({ events: [anEvent({ isError: true, severity: 'error' })] });

describe('while Redis is unavailable', () => {
  it('events wait and are evaluated once when it is back', async () => {
    const redis = closeLater(await startRedis(), (server) => server.stop());
    const fresh = closeLater(await freshDatabase({ migrate }), (database) => database.drop());
    const state = closeLater(await connectRedisState({ url: redis.url }), (stores) => stores.close());
    const { bus, triggers } = await memoryBus();
    await evaluatorOn(bus, state, fresh.url);
    await bus.request(COMMANDS.createRule, { tenantId: 'acme', body: { ...DRAFT, cooldownMinutes: 0 } });
    await redis.kill();
    const batches = [erring(), erring(), erring()];
    const published = Promise.allSettled(batches.map((batch) => bus.publish(agentEvents, batch, { deadlineMs: 200 })));
    await published;
    expect(triggers).toEqual([]);
    await redis.start();
    await eventually(() => expect(triggers).toHaveLength(3), { timeoutMs: 25_000 });
    expect(new Set(triggers.map(({ id }) => id)).size).toBe(3);
  });
});

describe('while Postgres is unavailable', () => {
  it('evaluates with the cached rules, rejects changes with a clear error, and accepts them afterwards', async () => {
    const fresh = closeLater(await freshDatabase({ migrate }), (database) => database.drop());
    const proxy = closeLater(await tcpProxy(fresh.url), (open) => open.close());
    const { bus, triggers } = await memoryBus();
    await evaluatorOn(bus, createMemoryState(), proxy.url);
    const create = () => bus.request(COMMANDS.createRule, { tenantId: 'acme', body: DRAFT });
    expect(await create()).toMatchObject({ ok: true });
    proxy.mode('blackhole');
    proxy.reset();
    await bus.publish(agentEvents, erring());
    await eventually(() => expect(triggers).toHaveLength(1));
    expect(await create()).toMatchObject({ ok: false, problem: { status: 503 } });
    proxy.mode('pass');
    proxy.reset();
    await eventually(async () => expect(await create()).toMatchObject({ ok: true }));
  });
});
