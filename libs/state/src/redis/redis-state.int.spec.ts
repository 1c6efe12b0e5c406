import type { LabelStore } from '@agentlens/guardrails';
import { eventually, startRedis, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { breakerStoreContract } from '../contract/breaker-store.contract.ts';
import { budgetStoreContract } from '../contract/budget-store.contract.ts';
import { callHistoryContract } from '../contract/call-history.contract.ts';
import { cooldownStoreContract } from '../contract/cooldown-store.contract.ts';
import { evaluationTallyContract } from '../contract/evaluation-tally.contract.ts';
import { idempotencyStoreContract } from '../contract/idempotency-store.contract.ts';
import { completed, labelStoreContract } from '../contract/label-store.contract.ts';
import { presenceContract } from '../contract/presence.contract.ts';
import { quotaContract } from '../contract/quota.contract.ts';
import { fresh } from '../contract/requests.ts';
import { runContextsContract, runTreesContract } from '../contract/run-contexts.contract.ts';
import { requestOf, steps, windowModelContract } from '../contract/window-model.contract.ts';
import { windowStoreContract } from '../contract/window-store.contract.ts';
import { createMemoryState } from '../memory/memory-state.ts';
import type { StateStores } from '../state-stores.ts';
import { connectRedisState } from './redis-state.ts';

let server: TestServer;
let state: StateStores;

beforeAll(async () => {
  server = await startRedis();
  // Generous, because this suite checks counts, not how long a slow machine stalls.
  state = await connectRedisState({ url: server.url, name: 'state-contract', commandTimeoutMs: 20_000 });
});

afterAll(async () => {
  await state?.close();
  await server?.stop();
});

windowStoreContract('redis', () => state.windows);
windowModelContract('redis', () => state.windows, 60);
// Redis has its own clock, so the check is repeated until it holds.
cooldownStoreContract('redis', () => state);
quotaContract('redis', () => state.quota, 40);
idempotencyStoreContract('redis', () => state.idempotency);
runContextsContract('redis', () => state.runContexts);
runTreesContract('redis', () => state.runTrees, 20);
callHistoryContract('redis', () => state.calls);
labelStoreContract('redis', () => state.labels);
breakerStoreContract('redis', () => state.breakers);
budgetStoreContract('redis', () => state.budgets, 3);
evaluationTallyContract('redis', () => state.evaluationTally, 40);
presenceContract(
  'redis',
  () => state.presence,
  (_, check) => eventually(check),
);

describe('ledger entries of an earlier release, in millionths of a dollar', () => {
  it('are recorded together with new ones', async () => {
    const tenantId = fresh('tenant');
    const redis = new Redis(server.url);
    const entry = ['budget', 'scope', '2026-03-01', 'reservation', '750000', '123457', '1772323200000'];
    await redis.xadd(`ledger:{${tenantId}}`, '*', 'e', JSON.stringify(entry));
    await redis.quit();
    const account = {
      budgetId: 'budget',
      scopeId: 'scope',
      periodStart: '2026-03-01',
      keptMs: 3_600_000,
      onUnpriced: 'estimate',
    } as const;
    await state.budgets.seeded(tenantId);
    await state.budgets.spend(tenantId, [{ eventId: 'e', costUsd: 4e-7, accounts: [account] }], Date.now());
    const entries = await state.budgets.unrecorded(tenantId, 10);
    expect(entries).toMatchObject([
      { reservationId: 'reservation', estimateUsd: 0.75, costUsd: 0.123457 },
      { reservationId: 'e', costUsd: 4e-7 },
    ]);
    await state.budgets.recorded(tenantId, [entries[0]?.id ?? '']);
    expect(await state.budgets.unrecorded(tenantId, 10)).toMatchObject([{ reservationId: 'e' }]);
  });
});

describe('labels of a run tree', () => {
  it('expire 7 days after they were last set or read', async () => {
    const line = { tenantId: fresh('tenant'), runIds: ['run'] } as const;
    const key = `labels:{${line.tenantId}}:run`;
    const redis = new Redis(server.url);
    await completed(state.labels).set(line, ['pii'], { runId: 'run', agentId: 'crm', toolName: 'read', atMs: 0 });
    const afterSet = await redis.pttl(key);
    await redis.pexpire(key, 60_000);
    await state.labels.read(line);
    const afterRead = await redis.pttl(key);
    await redis.quit();
    for (const ttlMs of [afterSet, afterRead]) expect(Math.round(ttlMs / 86_400_000)).toBe(7);
  });

  describe('that Redis may have lost', () => {
    const line = { tenantId: 'loses', runIds: ['run'] } as const;
    const cause = { runId: 'run', agentId: 'crm', toolName: 'read', atMs: 0 };
    const page = [{ runId: 'run', label: 'pii', cause }];
    let redis: Redis;
    beforeAll(() => {
      redis = new Redis(server.url);
    });
    beforeEach(async () => {
      await redis.flushall();
      await completed(state.labels).set(line, ['pii'], cause);
    });
    afterAll(async () => {
      await redis.quit();
    });
    const restore = (store: LabelStore, meanwhile: () => Promise<unknown> = async () => undefined) =>
      store.restore(
        line.tenantId,
        (async function* () {
          yield page;
          await meanwhile();
        })(),
      );

    it('are not read after a flush until they are restored', async () => {
      await redis.flushall();
      expect(await state.labels.read(line)).toBe('lost');
      expect(await state.labels.set(line, ['web'], cause)).toBe('lost');
      expect(await restore(state.labels)).toBe(true);
      expect(await state.labels.read(line)).toEqual(new Map([['pii', cause]]));
    });

    it('are not complete if Redis is flushed while they are restored', async () => {
      await redis.flushall();
      expect(await restore(state.labels, () => redis.flushall())).toBe(false);
      expect(await state.labels.read(line)).toBe('lost');
    });

    it('are verified by every process, and again on a new connection or after another process restored them', async () => {
      const other = await connectRedisState({ url: server.url, name: 'other-process', commandTimeoutMs: 20_000 });
      expect(await other.labels.read(line)).toBe('unverified');
      expect(await restore(other.labels)).toBe(true);
      const id = /id=(\d+)[^\n]*name=other-process/.exec((await redis.client('LIST')) as string)?.[1] ?? '';
      await redis.client('KILL', 'ID', id);
      await eventually(async () => expect(await other.labels.read(line)).toBe('unverified'));
      await redis.flushall();
      expect(await restore(other.labels)).toBe(true);
      expect(await state.labels.read(line)).toBe('unverified');
      await other.close();
    });
  });
});

describe('memory and redis', () => {
  it('return the same answers to the same random sequence', async () => {
    const memory = createMemoryState();
    await fc.assert(
      fc.asyncProperty(steps, fc.infiniteStream(fc.boolean()), async (list, isRetryable) => {
        const agentId = fresh('agent');
        for (const step of list) {
          const retryable = step.facts.flatMap(({ atMs, milli }, event) =>
            isRetryable.next().value ? [{ event, id: `event-${milli % 5}`, atMs }] : [],
          );
          const request = { ...requestOf(agentId, step), retryable };
          expect(await state.windows.advance(request)).toEqual(await memory.windows.advance(request));
        }
      }),
      { numRuns: 60 },
    );
  });
});
