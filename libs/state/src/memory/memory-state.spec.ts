import { describe, expect, it } from '@jest/globals';
import { breakerStoreContract } from '../contract/breaker-store.contract.ts';
import { budgetStoreContract } from '../contract/budget-store.contract.ts';
import { callHistoryContract } from '../contract/call-history.contract.ts';
import { cooldownStoreContract } from '../contract/cooldown-store.contract.ts';
import { evaluationTallyContract } from '../contract/evaluation-tally.contract.ts';
import { idempotencyStoreContract } from '../contract/idempotency-store.contract.ts';
import { completed, labelStoreContract } from '../contract/label-store.contract.ts';
import { presenceContract } from '../contract/presence.contract.ts';
import { quotaContract } from '../contract/quota.contract.ts';
import { batchOf, START_MS, sliding, sums } from '../contract/requests.ts';
import { runContextsContract, runTreesContract } from '../contract/run-contexts.contract.ts';
import { windowModelContract } from '../contract/window-model.contract.ts';
import { windowStoreContract } from '../contract/window-store.contract.ts';
import { createMemoryState } from './memory-state.ts';

let nowMs = START_MS;
const state = createMemoryState({ clock: { now: () => nowMs } });
const elapse = async (ms: number) => {
  nowMs += ms;
};

windowStoreContract('memory', () => state.windows);
windowModelContract('memory', () => state.windows, 200);
cooldownStoreContract('memory', () => state);
quotaContract('memory', () => state.quota, 100);
idempotencyStoreContract('memory', () => state.idempotency);
runContextsContract('memory', () => state.runContexts);
runTreesContract('memory', () => state.runTrees, 200);
callHistoryContract('memory', () => state.calls);
labelStoreContract('memory', () => state.labels, elapse);
breakerStoreContract('memory', () => state.breakers);
budgetStoreContract('memory', () => state.budgets, 20);
evaluationTallyContract('memory', () => state.evaluationTally, 100);
presenceContract(
  'memory',
  () => state.presence,
  async (ms, check) => {
    await elapse(ms);
    await check();
  },
);

describe('memory state', () => {
  it('does not let a caller change a stored answer', async () => {
    const request = batchOf('agent-kept', sliding(1, 'x', 'quantiles'), START_MS, []);
    const first = await state.windows.advance(request);
    (first.duplicates as number[]).push(7);
    expect((await state.windows.advance(request)).duplicates).toEqual([]);
  });

  it('evicts counted messages and the windows of an idle agent', async () => {
    const request = batchOf('agent-idle', sliding(1), START_MS, [{ atMs: START_MS, value: 1 }]);
    await state.windows.advance(request);
    await elapse(3_600_000 + 60_000);
    expect(sums(await state.windows.read('acme', 'agent-idle', START_MS, [sliding(1)]))).toEqual([
      { count: 0, sum: 0 },
    ]);
    expect(sums((await state.windows.advance(request)).before)).toEqual([{ count: 0, sum: 0 }]);
  });

  it('remembers a counted message while it is redelivered', async () => {
    const request = batchOf('agent-late', sliding(60), START_MS, [{ atMs: START_MS, value: 1 }]);
    await state.windows.advance(request);
    for (let minutes = 0; minutes < 20; minutes += 4) {
      await elapse(4 * 60_000);
      expect(sums((await state.windows.advance(request)).before)).toEqual([{ count: 0, sum: 0 }]);
    }
    expect(sums(await state.windows.read('acme', 'agent-late', START_MS, [sliding(60)]))).toEqual([
      { count: 1, sum: 1 },
    ]);
  });

  it('is always healthy', async () => {
    expect(state.healthy()).toBe(true);
    await state.close();
  });
});

describe('memory snapshot', () => {
  const run = { tenantId: 'acme', agentId: 'agent', runId: 'run' };
  const call = { callKey: 'a', toolName: 'search', toolTags: [], argsHash: 'x', atMs: START_MS };
  const refs = [{ scope: 'run', scopeId: 'run' } as const];
  const breakerOf = { tenantId: 'acme', agentId: 'agent', refs };

  it('restores calls, labels, counts, breakers, cooldowns and run contexts in the next process', async () => {
    const clock = { now: () => START_MS };
    const before = createMemoryState({ clock });
    await before.calls.enter(run, call);
    await before.calls.complete(run, { ...call, resultHash: 'r' });
    const cause = { runId: 'run', agentId: 'agent', toolName: 'read', atMs: START_MS };
    await completed(before.labels).set({ tenantId: 'acme', runIds: ['run'] }, ['pii'], cause);
    await before.runContexts.keep('acme', 'run', { sessionId: 's' });
    await before.breakers.read({ ...breakerOf, adding: { at: 0, usage: { tokens: 7, costUsd: 0.5, iterations: 1 } } });
    const values = [1, 2.5].map((value) => ({ atMs: START_MS, value }));
    const batch = batchOf('agent', sliding(60, 'x', 'quantiles'), START_MS, values);
    await before.windows.advance(batch);
    const claim = { tenantId: 'acme', agentId: 'agent', ruleId: 'r', dryRun: false, triggerId: 't', atMs: START_MS };
    await before.cooldowns.claim({ ...claim, cooldownMs: 60_000 });

    const after = createMemoryState({ clock, snapshot: before.snapshot() });

    expect(await after.calls.read(run)).toMatchObject([{ callKey: 'a', status: 'completed', resultHash: 'r' }]);
    expect(await completed(after.labels).read({ tenantId: 'acme', runIds: ['run'] })).toEqual(
      new Map([['pii', cause]]),
    );
    expect(await after.runContexts.find('acme', 'run')).toEqual({ sessionId: 's' });
    expect(await after.breakers.read(breakerOf)).toEqual(await before.breakers.read(breakerOf));
    expect(await after.windows.advance(batch)).toEqual(await before.windows.advance(batch));
    const read = [batch.tenantId, batch.agentId, START_MS, batch.series] as const;
    expect(await after.windows.read(...read)).toEqual(await before.windows.read(...read));
    expect((await after.windows.read(...read))[0]).toMatchObject({ count: 2, sum: 3.5 });
    expect(await after.cooldowns.claim({ ...claim, triggerId: 'other', cooldownMs: 60_000 })).toBe(false);
  });

  it('drops what has expired in the meantime', async () => {
    let now = START_MS;
    const clock = { now: () => now };
    const before = createMemoryState({ clock });
    await before.calls.enter(run, call);
    const snapshot = before.snapshot();
    now += 8 * 86_400_000;
    expect(await createMemoryState({ clock, snapshot }).calls.read(run)).toEqual([]);
  });

  it('rejects data that is not a snapshot', () => {
    expect(() => createMemoryState({ snapshot: Buffer.from('nonsense') })).toThrow();
  });
});
