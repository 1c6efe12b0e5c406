import { type AgentEvent, type Budget, periodStart } from '@agentlens/contracts';
import type { BudgetAccount, LedgerEntry } from '@agentlens/guardrails';
import { createLogger } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { aBatch, anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { applying, holderOfRun, reservationOf } from './accounts.ts';
import { EventSpender } from './event-spender.ts';
import { LedgerWriter } from './ledger-writer.ts';
import { SeededBudgetStore } from './seeded-budget-store.ts';
import type { UnpricedCall } from './unpriced-alerts.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const aBudget = (fields: Partial<Budget> = {}): Budget => ({
  ...{ id: 'b', tenantId: 'acme', name: 'Money', scope: 'run', period: 'total', limitUsd: 1, enabled: true },
  ...{ onUnavailable: 'allow', onUnpriced: 'estimate', freeCalls: 'allow', version: 1, createdAt: '', updatedAt: '' },
  ...fields,
});

describe('a period', () => {
  it.each<[Budget['period'], string, string]>([
    ['day', '2026-03-01T23:59:59.999Z', '2026-03-01'],
    ['day', '2026-03-02T00:00:00.000Z', '2026-03-02'],
    ['week', '2026-03-01T12:00:00.000Z', '2026-02-23'],
    ['week', '2026-03-02T00:00:00.000Z', '2026-03-02'],
    ['month', '2026-03-31T23:00:00.000Z', '2026-03-01'],
    ['total', '2026-03-31T23:00:00.000Z', '1970-01-01'],
  ])('(%s) of %s begins on %s', (period, at, start) => {
    expect(periodStart(period, Date.parse(at))).toBe(start);
  });
});

describe('applicable budgets', () => {
  const spender = { tenantId: 'acme', agentId: 'agent', runId: 'run', actorId: 'ann' };

  it.each<[Partial<Budget>, string | undefined]>([
    [{ scope: 'run' }, 'run'],
    [{ scope: 'tree' }, 'run'],
    [{ scope: 'agent' }, 'agent'],
    [{ scope: 'session' }, 'run'],
    [{ scope: 'actor' }, 'ann'],
    [{ scope: 'tenant' }, 'acme'],
    [{ scope: 'agent', scopeId: 'agent' }, 'agent'],
    [{ scope: 'agent', scopeId: 'other' }, undefined],
    [{ enabled: false }, undefined],
  ])('%j: pot of %s', (fields, scopeId) => {
    expect(applying([aBudget(fields)], spender, NOW)[0]?.account.scopeId).toBe(scopeId);
  });

  it('exclude end-user budgets if the call has no end user', () => {
    expect(applying([aBudget({ scope: 'actor' })], { ...spender, actorId: undefined }, NOW)).toEqual([]);
  });
});

const account = {
  budgetId: 'b',
  scopeId: 'run',
  periodStart: '1970-01-01',
  keptMs: 400 * 86_400_000,
  onUnpriced: 'estimate',
} as const;

const record = async () => undefined;

describe('SeededBudgetStore', () => {
  it('is seeded from the ledger once, even with concurrent first callers', async () => {
    const { budgets } = createMemoryState();
    let reads = 0;
    const spent = async () => {
      reads += 1;
      return [{ ...account, spentUsd: 0.75 }];
    };
    const budgetStore = new SeededBudgetStore(
      budgets,
      { spent, record },
      () => NOW,
      () => undefined,
    );
    const balances = await Promise.all([1, 2, 3].map(() => budgetStore.balances('acme', [account], NOW)));
    expect(balances).toMatchObject(Array.from({ length: 3 }, () => [{ spentUsd: 0.75, heldUsd: 0 }]));
    expect(reads).toBe(1);
  });

  it('counts entries that are still waiting in the store once', async () => {
    const { budgets } = createMemoryState();
    const ledger = new Map<string, LedgerEntry>();
    const ofLedger = {
      record: async (_: string, entries: readonly LedgerEntry[]) => {
        for (const entry of entries) ledger.set(entry.reservationId, entry);
      },
      spent: async () => [
        { ...account, spentUsd: [...ledger.values()].reduce((sum, { costUsd }) => sum + costUsd, 0) },
      ],
    };
    const waiting = {
      ...account,
      id: '1',
      reservationId: 'e',
      estimateUsd: 0,
      costUsd: 0.5,
      settledAtMs: NOW,
      unpriced: false,
    };
    let left: readonly LedgerEntry[] = [waiting];
    const store = Object.assign(budgets, {
      unrecorded: async () => left,
      recorded: async () => {
        left = [];
      },
    });
    const budgetStore = new SeededBudgetStore(
      store,
      ofLedger,
      () => NOW,
      () => undefined,
    );
    expect(await budgetStore.balances('acme', [account], NOW)).toMatchObject([{ spentUsd: 0.5, heldUsd: 0 }]);
    expect(left).toEqual([]);
  });

  it('fails while neither the store nor the ledger is available, and works afterwards', async () => {
    const { budgets } = createMemoryState();
    let away = true;
    const spent = async () => {
      if (away) throw new Error('away');
      return [];
    };
    const budgetStore = new SeededBudgetStore(
      budgets,
      { spent, record },
      () => NOW,
      () => undefined,
    );
    await expect(budgetStore.balances('acme', [account], NOW)).rejects.toThrow('away');
    away = false;
    expect(await budgetStore.balances('acme', [account], NOW)).toMatchObject([{ spentUsd: 0, heldUsd: 0 }]);
  });
});

describe('a store that keeps nothing', () => {
  it('is seeded twice per question and then reported as unavailable', async () => {
    let reads = 0;
    const spent = async () => {
      reads += 1;
      return [];
    };
    const forgetful = {
      balances: async () => null,
      unrecorded: async () => [],
      seed: async () => undefined,
      seeded: async () => undefined,
    };
    const budgetStore = new SeededBudgetStore(
      forgetful as never,
      { spent, record },
      () => NOW,
      () => undefined,
    );
    await expect(budgetStore.balances('acme', [account], NOW)).rejects.toThrow('does not keep');
    expect(reads).toBe(2);
  });
});

const UNKNOWN = { costSource: 'unpriced', unpricedReason: 'no_tokens' } as const;

describe('spending what events report', () => {
  const reported: UnpricedCall[] = [];
  async function spentAfter(...batches: AgentEvent[][]): Promise<number | undefined> {
    return (await balancesAfter([account], ...batches))[0];
  }
  /** What was spent of each account of the budget. */
  async function balancesAfter(accounts: readonly BudgetAccount[], ...batches: AgentEvent[][]): Promise<number[]> {
    return (await wholeBalancesAfter(accounts, ...batches)).map(({ spentUsd }) => spentUsd);
  }
  async function wholeBalancesAfter(accounts: readonly BudgetAccount[], ...batches: AgentEvent[][]) {
    const { budgets } = createMemoryState();
    const budgetStore = new SeededBudgetStore(
      budgets,
      { spent: async () => [], record },
      () => NOW,
      () => undefined,
    );
    const parts = {
      budgetStore,
      budgets: { of: () => [aBudget({ scope: accounts.some(({ ofTree }) => ofTree) ? 'tree' : 'run' })] },
      unpriced: { report: (call: UnpricedCall) => reported.push(call) },
      now: () => NOW,
    };
    const spender = new EventSpender(parts);
    await budgetStore.reserve({
      ...{ tenantId: 'acme', reservationId: reservationOf({ runId: 'run', callId: 'call' }), estimateUsd: 0.5 },
      ...{ question: 'question', holders: [holderOfRun('run')] },
      ...{ accounts: [{ ...account, limitUsd: 1 }], nowMs: NOW, expiresAtMs: NOW + 60_000 },
    });
    for (const events of batches) await spender.spend(aBatch({ events }));
    return budgetStore.balances('acme', accounts, NOW);
  }
  const cost = (id: string, costUsd: number, fields: Partial<AgentEvent> = {}) =>
    anEvent({ id, runId: 'run', kind: 'cost.recorded', usage: { costUsd }, ...fields });

  it('counts every event once', async () => {
    expect(await spentAfter([cost('a', 0.1), cost('b', 0.2)], [cost('b', 0.2), cost('a', 0.1)])).toBe(0.3);
  });

  it('settles the reservation of the same call, with the estimate if the price is unknown', async () => {
    const priced = anEvent({ id: 'x', runId: 'run', kind: 'llm.completed', callId: 'call', usage: { costUsd: 0.4 } });
    const unpriced = { ...priced, usage: { totalTokens: 5, costSource: 'unpriced' as const } };
    expect(await spentAfter([priced], [priced])).toBe(0.4);
    expect(await spentAfter([unpriced], [unpriced])).toBe(0.5);
  });

  it.each<[string, Partial<AgentEvent>, number]>([
    ['failed before it produced anything', { isError: true }, 0],
    ['failed with zero tokens', { isError: true, usage: { inputTokens: 0, outputTokens: 0, ...UNKNOWN } }, 0],
    ['ended with the outcome error', { payload: { outcome: 'error' } }, 0],
    ['broke off after its first words', { isError: true, payload: { completion: 'Once' } }, 0.5],
    ['broke off after parts of its answer', { isError: true, payload: { messageCount: 1 } }, 0.5],
    ['failed after tokens with a price', { isError: true, usage: { costUsd: 0.1 } }, 0.1],
    ['ended without any usage', { usage: undefined }, 0.5],
  ])('settles a model call that %s', async (_, fields, expected) => {
    const ended = { id: 'x', runId: 'run', kind: 'llm.completed', callId: 'call', usage: UNKNOWN } as const;
    const event = anEvent({ ...ended, ...fields });
    const [balance] = await wholeBalancesAfter([account], [event], [event]);
    const estimatedUsd = expected === 0.5 ? 0.5 : 0;
    expect(balance).toMatchObject({ spentUsd: expected, heldUsd: 0, estimatedUsd });
  });

  it('releases at once what an ended run holds, and charges a cost that arrives later', async () => {
    const end = anEvent({ id: 'end', runId: 'run', kind: 'run.ended' });
    expect(await wholeBalancesAfter([account])).toMatchObject([{ spentUsd: 0, heldUsd: 0.5 }]);
    expect(await wholeBalancesAfter([account], [end])).toMatchObject([{ spentUsd: 0, heldUsd: 0 }]);
    const late = anEvent({ id: 'x', runId: 'run', kind: 'llm.completed', callId: 'call', usage: { costUsd: 0.4 } });
    expect(await wholeBalancesAfter([account], [end], [late, late])).toMatchObject([{ spentUsd: 0.4, heldUsd: 0 }]);
    expect(await wholeBalancesAfter([account], [late, end])).toMatchObject([{ spentUsd: 0.4, heldUsd: 0 }]);
  });

  it('charges the estimate of a call without a price, and reports it with the budgets that it draws on', async () => {
    reported.splice(0);
    const usage = { totalTokens: 5, costSource: 'unpriced', estimatedCostUsd: 0.75 } as const;
    const call = anEvent({ id: 'u', runId: 'run', kind: 'llm.completed', model: 'new-model', usage });
    expect(await spentAfter([call], [call])).toBe(0.75);
    expect(reported[0]).toMatchObject({ tenantId: 'acme', event: { model: 'new-model' }, budgets: [{ id: 'b' }] });
  });

  it('does not count a failed call without tokens as a call without a price', async () => {
    const usage = { costSource: 'unpriced', unpricedReason: 'no_tokens' } as const;
    reported.splice(0);
    await spentAfter([anEvent({ id: 'f', runId: 'run', kind: 'llm.completed', isError: true, usage })]);
    expect(reported).toEqual([]);
  });

  it('charges the tree of the run, also if an event names its parent late', async () => {
    const of = (scopeId: string) => ({ ...account, scopeId, ofTree: true as const });
    const trees = [of('leaf'), of('middle'), of('root'), of('beside')];
    const spent = await balancesAfter(
      trees,
      [cost('a', 0.1, { runId: 'leaf' }), cost('b', 0.2, { runId: 'middle' }), cost('c', 4, { runId: 'beside' })],
      [cost('d', 0.4, { runId: 'root' }), anEvent({ runId: 'leaf', kind: 'run.started', parentRunId: 'middle' })],
      [cost('e', 1, { runId: 'middle', parentRunId: 'root' }), anEvent({ runId: 'root', parentRunId: 'root' })],
    );
    expect(spent).toEqual([1.7, 1.7, 1.7, 4]);
  });

  it('charges nothing for an event without cost', async () => {
    expect(await spentAfter([cost('a', 0), anEvent({ id: 'm', runId: 'run', kind: 'message.created' })])).toBe(0);
  });
});

describe('the ledger', () => {
  it('is written soon after money was spent or moved to another tree', async () => {
    const { budgets } = createMemoryState();
    await budgets.seeded('acme');
    const touched: string[] = [];
    const store = new SeededBudgetStore(
      budgets,
      { spent: async () => [], record },
      () => NOW,
      (tenantId) => touched.push(tenantId),
    );
    const pot = { ...account, scopeId: 'middle', ofTree: true as const };
    await store.spend('acme', [{ eventId: 'e', costUsd: 0.5, accounts: [pot] }], NOW);
    expect(touched).toEqual(['acme']);
    await budgets.recorded(
      'acme',
      (await budgets.unrecorded('acme', 10)).map(({ id }) => id),
    );
    await store.joinTrees('acme', [{ runId: 'middle', parentRunId: 'top' }]);
    expect(await budgets.unrecorded('acme', 10)).not.toEqual([]);
    expect(touched).toEqual(['acme', 'acme']);
  });

  it('receives everything that was spent, including entries that it rejected at first', async () => {
    const { budgets } = createMemoryState();
    await budgets.seeded('acme');
    await budgets.spend('acme', [{ eventId: 'e', costUsd: 0.5, accounts: [account] }], NOW);
    const rows: LedgerEntry[] = [];
    let away = true;
    const record = async (_: string, entries: readonly LedgerEntry[]) => {
      if (away) throw new Error('away');
      rows.push(...entries);
    };
    const writer = new LedgerWriter(
      budgets,
      { record },
      () => ['acme'],
      createLogger({ name: 'test', level: 'silent' }),
    );
    await writer.flush();
    expect(rows).toEqual([]);
    away = false;
    await writer.stop();
    expect(rows).toMatchObject([{ reservationId: 'e', costUsd: 0.5 }]);
    await writer.flush();
    expect(rows).toHaveLength(1);
  });

  it('receives all of a tenant before a write resolves, also what a flush in progress did not read', async () => {
    const { budgets } = createMemoryState();
    await budgets.seeded('acme');
    const rows: LedgerEntry[] = [];
    const first = Promise.withResolvers<void>();
    const record = async (_: string, entries: readonly LedgerEntry[]) => {
      if (rows.length === 0) await first.promise;
      rows.push(...entries);
    };
    const silent = createLogger({ name: 'test', level: 'silent' });
    const writer = new LedgerWriter(budgets, { record }, () => [], silent);
    const spend = (eventId: string) => budgets.spend('acme', [{ eventId, costUsd: 0.5, accounts: [account] }], NOW);
    await spend('one');
    const one = writer.write('acme');
    await spend('two');
    const two = writer.write('acme');
    first.resolve();
    await Promise.all([one, two]);
    expect(rows.map(({ reservationId }) => reservationId)).toEqual(['one', 'two']);
    await writer.stop();
  });
});
