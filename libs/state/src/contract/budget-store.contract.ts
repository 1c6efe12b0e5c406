import type { BudgetAccount, BudgetStore, ChargedAccount, ReserveRequest, Spending } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fresh, START_MS } from './requests.ts';

const anAccount = (fields: Partial<ChargedAccount> = {}): ChargedAccount => ({
  budgetId: 'budget',
  scopeId: fresh('scope:{}'),
  periodStart: '2026-03-01',
  keptMs: 3_600_000,
  onUnpriced: 'estimate',
  ...fields,
});

/** Contract of every BudgetStore. `numRuns` is smaller if each step is a round trip. */
export function budgetStoreContract(name: string, budgets: () => BudgetStore, numRuns: number): void {
  describe(`budget store contract: ${name}`, () => {
    const aTenant = async (): Promise<string> => {
      const tenantId = fresh('tenant');
      await budgets().seeded(tenantId);
      return tenantId;
    };
    const aRequest = (
      tenantId: string,
      account: ChargedAccount,
      fields: Partial<ReserveRequest> = {},
    ): ReserveRequest => ({
      tenantId,
      reservationId: fresh('reservation'),
      question: 'question',
      estimateUsd: 1,
      accounts: [{ ...account, limitUsd: 10 }],
      nowMs: START_MS,
      expiresAtMs: START_MS + 60_000,
      ...fields,
    });
    const wholeBalanceOf = async (tenantId: string, account: BudgetAccount, nowMs = START_MS) =>
      (await budgets().balances(tenantId, [account], nowMs))?.[0];
    const balanceOf = async (tenantId: string, account: BudgetAccount, nowMs = START_MS) => {
      const { spentUsd, heldUsd } = (await wholeBalanceOf(tenantId, account, nowMs)) ?? {};
      return { spentUsd, heldUsd };
    };
    const spend = (tenantId: string, ...spendings: (Partial<Spending> & { costUsd: number | null })[]) =>
      budgets().spend(
        tenantId,
        spendings.map((one) => ({ accounts: [], ...one })),
        START_MS,
      );

    it('does nothing for a tenant whose accounts are not seeded', async () => {
      const [tenantId, account] = [fresh('tenant'), anAccount()];
      expect(await budgets().reserve(aRequest(tenantId, account))).toEqual({ kind: 'unseeded' });
      expect(await budgets().balances(tenantId, [account], START_MS)).toBeNull();
      expect(await spend(tenantId, { eventId: 'e', costUsd: 1, accounts: [account] })).toBeNull();
      await budgets().seed(tenantId, [{ ...account, spentUsd: 4.5 }]);
      await budgets().seeded(tenantId);
      await budgets().seed(tenantId, [{ ...account, spentUsd: 9 }]);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 4.5, heldUsd: 0 });
    });

    it('holds an estimate and settles it with the actual cost', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const request = aRequest(tenantId, account, { estimateUsd: 2.5 });
      expect(await budgets().reserve(request)).toEqual({ kind: 'reserved', expiresAtMs: START_MS + 60_000 });
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0, heldUsd: 2.5 });
      expect(await spend(tenantId, { reservationId: request.reservationId, costUsd: 1.25 })).toEqual(['settled']);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 1.25, heldUsd: 0 });
    });

    it('fills a budget up to its limit and not beyond', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const ask = (estimateUsd: number) => budgets().reserve(aRequest(tenantId, account, { estimateUsd }));
      for (let i = 0; i < 99; i++) expect((await ask(0.1)).kind).toBe('reserved');
      expect(await ask(0.100001)).toEqual({ kind: 'refused', budgetId: 'budget' });
      expect((await ask(0.1)).kind).toBe('reserved');
      expect((await ask(0.000001)).kind).toBe('refused');
      expect((await ask(0)).kind).toBe('reserved');
    });

    it('reserves from all budgets or none, and names the one that refused', async () => {
      const [tenantId, rich, poor] = [await aTenant(), anAccount(), anAccount({ budgetId: 'poor' })];
      const accounts = [
        { ...rich, limitUsd: 10 },
        { ...poor, limitUsd: 0.5 },
      ];
      expect(await budgets().reserve(aRequest(tenantId, rich, { accounts }))).toEqual({
        kind: 'refused',
        budgetId: 'poor',
      });
      expect(await balanceOf(tenantId, rich)).toEqual({ spentUsd: 0, heldUsd: 0 });
    });

    it('reserves once for a repeated question and returns the same answer', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const request = aRequest(tenantId, account);
      const first = await budgets().reserve(request);
      expect(await budgets().reserve({ ...request, nowMs: START_MS + 5, expiresAtMs: START_MS + 65_000 })).toEqual(
        first,
      );
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0, heldUsd: 1 });
    });

    it('reserves separately for each call under one id: other question, other estimate, or the same after it ended', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const request = aRequest(tenantId, account, { estimateUsd: 4 });
      const ask = (fields: Partial<ReserveRequest>) => budgets().reserve({ ...request, ...fields });
      await ask({});
      expect((await ask({ estimateUsd: 7 })).kind).toBe('refused');
      expect((await ask({ question: 'other', estimateUsd: 5 })).kind).toBe('reserved');
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0, heldUsd: 9 });
      const end = { reservationId: request.reservationId, eventId: 'first', costUsd: 4, accounts: [account] };
      expect(await spend(tenantId, end)).toEqual(['settled']);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 4, heldUsd: 5 });
      expect((await ask({})).kind).toBe('refused');
      expect((await ask({ estimateUsd: 1 })).kind).toBe('reserved');
      const others = [{ ...end, eventId: 'second', costUsd: 0.5 }, end, { ...end, eventId: 'third', costUsd: 0.25 }];
      expect(await spend(tenantId, ...others)).toEqual(['settled', 'repeated', 'settled']);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 4.75, heldUsd: 0 });
      await ask({ estimateUsd: 1 });
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 4.75, heldUsd: 1 });
    });

    it('replaces the estimate of an open call, or keeps the earlier one if the new one does not fit', async () => {
      const [tenantId, account, later] = [await aTenant(), anAccount(), anAccount({ budgetId: 'later' })];
      const request = aRequest(tenantId, account, { estimateUsd: 4, holders: ['run'] });
      const grow = (estimateUsd: number, fields: Partial<ReserveRequest> = {}) =>
        budgets().reserve({ ...request, estimateUsd, replaces: true, ...fields });
      await budgets().reserve(request);
      await budgets().reserve(aRequest(tenantId, account, { estimateUsd: 3 }));
      expect((await grow(7)).kind).toBe('reserved');
      expect(await grow(7.01)).toEqual({ kind: 'refused', budgetId: 'budget' });
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0, heldUsd: 10 });
      const both = [account, later].map((one) => ({ ...one, limitUsd: 10 }));
      const [nowMs, expiresAtMs] = [START_MS + 50_000, START_MS + 110_000];
      expect(await grow(6, { accounts: both, nowMs, expiresAtMs })).toEqual({ kind: 'reserved', expiresAtMs });
      expect(await balanceOf(tenantId, later, START_MS + 70_000)).toEqual({ spentUsd: 0, heldUsd: 6 });
      expect(await balanceOf(tenantId, account, START_MS + 70_000)).toEqual({ spentUsd: 0, heldUsd: 6 });
      const ended = { reservationId: request.reservationId, eventId: fresh('event'), costUsd: 5 };
      expect(await spend(tenantId, ended)).toEqual(['settled']);
      expect(await balanceOf(tenantId, later)).toEqual({ spentUsd: 5, heldUsd: 0 });
      expect(await balanceOf(tenantId, account, START_MS + 70_000)).toEqual({ spentUsd: 5, heldUsd: 0 });
    });

    it('reserves for a growing call that the store does not know, and releases what has grown', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const request = aRequest(tenantId, account, { estimateUsd: 2, replaces: true, holders: ['run'] });
      expect((await budgets().reserve(request)).kind).toBe('reserved');
      expect((await budgets().reserve({ ...request, estimateUsd: 9 })).kind).toBe('reserved');
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0, heldUsd: 9 });
      await budgets().release(tenantId, ['run'], START_MS);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0, heldUsd: 0 });
    });

    it('refuses every call of an exhausted budget, even with an estimate of zero', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      await spend(tenantId, { eventId: 'all', costUsd: 10, accounts: [account] });
      for (const estimateUsd of [0, 1e-12, 1])
        expect((await budgets().reserve(aRequest(tenantId, account, { estimateUsd }))).kind).toBe('refused');
    });

    it('drops the oldest of too many calls under one id, whose hold is released when it expires', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const request = aRequest(tenantId, account, { estimateUsd: 0.01 });
      for (let n = 0; n < 105; n++) await budgets().reserve({ ...request, question: `question-${n}` });
      const ends = Array.from({ length: 105 }, (_, n) => ({
        ...{ reservationId: request.reservationId, eventId: `event-${n}`, costUsd: 0.01, accounts: [account] },
      }));
      const answers = (await spend(tenantId, ...ends)) ?? [];
      expect([answers.filter((one) => one === 'settled').length, answers.at(-1)]).toEqual([100, 'charged']);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 1.05, heldUsd: 0.05 });
      expect(await balanceOf(tenantId, account, START_MS + 60_000)).toEqual({ spentUsd: 1.05, heldUsd: 0 });
    });

    it('releases the hold of an orphan and still counts its cost when it ends', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const request = aRequest(tenantId, account, { estimateUsd: 10 });
      await budgets().reserve(request);
      const next = aRequest(tenantId, account, { estimateUsd: 10, expiresAtMs: START_MS + 200_000 });
      expect((await budgets().reserve({ ...next, nowMs: START_MS + 59_999 })).kind).toBe('refused');
      expect((await budgets().reserve({ ...next, nowMs: START_MS + 60_000 })).kind).toBe('reserved');
      expect(await spend(tenantId, { reservationId: request.reservationId, costUsd: 3 })).toEqual(['settled']);
      expect(await balanceOf(tenantId, account, START_MS + 60_000)).toEqual({ spentUsd: 3, heldUsd: 10 });
    });

    it('reserves again for a call whose reservation was orphaned', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const request = aRequest(tenantId, account);
      await budgets().reserve(request);
      await budgets().reserve({ ...request, nowMs: START_MS + 70_000, expiresAtMs: START_MS + 130_000 });
      expect(await balanceOf(tenantId, account, START_MS + 70_000)).toEqual({ spentUsd: 0, heldUsd: 1 });
    });

    it('releases what a holder reserved and still charges a cost that is reported later', async () => {
      const [tenantId, account, tree] = [await aTenant(), anAccount(), anAccount({ ofTree: true })];
      const ask = (reservationId: string, holders: string[], pot = account) =>
        budgets().reserve(aRequest(tenantId, pot, { reservationId, holders }));
      for (let call = 0; call < 600; call++) {
        const small = { reservationId: `many-${call}`, holders: ['many'], estimateUsd: 0.001 };
        await budgets().reserve(aRequest(tenantId, account, small));
      }
      await ask('own', ['run', 'agent']);
      await ask('settled', ['run', 'agent']);
      await ask('other', ['other', 'agent']);
      await ask('in-tree', ['run', 'agent'], tree);
      const settled = { reservationId: 'settled', eventId: 's', costUsd: 0.5, accounts: [account] };
      expect(await spend(tenantId, settled)).toEqual(['settled']);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0.5, heldUsd: 2.6 });
      await budgets().joinTrees(tenantId, [{ runId: tree.scopeId, parentRunId: 'top' }], START_MS);

      await budgets().release(tenantId, ['run', 'unknown'], START_MS);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0.5, heldUsd: 1.6 });
      expect(await balanceOf(tenantId, { ...tree, scopeId: 'top' })).toEqual({ spentUsd: 0, heldUsd: 0 });
      const late = { reservationId: 'own', eventId: 'o', costUsd: 0.25, accounts: [account] };
      expect(await spend(tenantId, late, late, settled)).toEqual(['charged', 'repeated', 'repeated']);
      await ask('own', ['run']);
      await budgets().release(tenantId, ['agent', 'many'], START_MS);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0.75, heldUsd: 1 });
      await budgets().release(tenantId, ['run'], START_MS);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0.75, heldUsd: 0 });
    });

    it('counts each event once, by itself or as the end of a reservation', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const { reservationId } = aRequest(tenantId, account);
      await budgets().reserve(aRequest(tenantId, account, { reservationId }));
      const own = { eventId: 'own', costUsd: 2, accounts: [account] };
      const call = { ...own, reservationId, eventId: 'call', costUsd: 0.5 };
      expect(await spend(tenantId, own, call, own, call)).toEqual(['charged', 'settled', 'repeated', 'repeated']);
      expect(await spend(tenantId, { ...call, eventId: 'again', costUsd: 0.25 })).toEqual(['charged']);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 2.75, heldUsd: 0 });
    });

    it('does not charge the event of a call that was settled by command', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const { reservationId } = aRequest(tenantId, account);
      await budgets().reserve(aRequest(tenantId, account, { reservationId }));
      const event = { reservationId, eventId: 'call', costUsd: 0.5, accounts: [account] };
      expect(await spend(tenantId, { reservationId, costUsd: 0.5 }, event, event)).toEqual([
        'settled',
        'repeated',
        'repeated',
      ]);
      expect(await spend(tenantId, { reservationId, costUsd: 7 })).toEqual(['repeated']);
      expect(await spend(tenantId, { reservationId: 'unknown', costUsd: 7 })).toEqual(['unknown']);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0.5, heldUsd: 0 });
    });

    it('charges the estimate if the cost is unknown', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const { reservationId } = aRequest(tenantId, account);
      await budgets().reserve(aRequest(tenantId, account, { reservationId }));
      await spend(tenantId, { reservationId, eventId: 'call', costUsd: null, accounts: [account] });
      await spend(tenantId, { eventId: 'other', costUsd: null, accounts: [account] });
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 1, heldUsd: 0 });
    });

    it('counts calls without a price and charges what each budget says', async () => {
      const tenantId = await aTenant();
      const [allows, estimates] = [anAccount({ onUnpriced: 'allow' }), anAccount({ budgetId: 'other' })];
      const call = { costUsd: null, unpriced: { estimateUsd: 2 }, accounts: [allows, estimates] };
      expect(await spend(tenantId, { ...call, eventId: 'a' }, { ...call, eventId: 'a' })).toEqual([
        'charged',
        'repeated',
      ]);
      await spend(tenantId, { ...call, eventId: 'b', unpriced: { estimateUsd: 0 } });
      const counted = { heldUsd: 0, unpricedCalls: 2 };
      expect(await wholeBalanceOf(tenantId, allows)).toEqual({ ...counted, spentUsd: 0, estimatedUsd: 0 });
      expect(await wholeBalanceOf(tenantId, estimates)).toEqual({ ...counted, spentUsd: 2, estimatedUsd: 2 });
      const entries = await budgets().unrecorded(tenantId, 10);
      expect(entries.map(({ costUsd, unpriced }) => [costUsd, unpriced])).toEqual([
        [0, true],
        [2, true],
        [0, true],
        [0, true],
      ]);
    });

    it('settles a call without a price with the estimate of the price list, or else with its own', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const settle = async (estimateUsd: number) => {
        const { reservationId } = aRequest(tenantId, account);
        await budgets().reserve(aRequest(tenantId, account, { reservationId, estimateUsd: 0.25 }));
        const end = { reservationId, eventId: fresh('event'), costUsd: null, accounts: [account] };
        expect(await spend(tenantId, { ...end, unpriced: { estimateUsd } })).toEqual(['settled']);
      };
      await settle(2);
      await settle(0);
      const expected = { spentUsd: 2.25, heldUsd: 0, unpricedCalls: 2, estimatedUsd: 2.25 };
      expect(await wholeBalanceOf(tenantId, account)).toEqual(expected);
    });

    it('blocks after a call without a price if the budget says so, also after it was seeded again', async () => {
      const [tenantId, account] = [await aTenant(), anAccount({ onUnpriced: 'block' })];
      await spend(tenantId, { eventId: 'priced', costUsd: 1, accounts: [account] });
      expect((await budgets().reserve(aRequest(tenantId, account))).kind).toBe('reserved');
      await spend(tenantId, { eventId: 'un', costUsd: null, unpriced: { estimateUsd: 0 }, accounts: [account] });
      expect((await budgets().reserve(aRequest(tenantId, account))).kind).toBe('refused');
      const again = fresh('tenant');
      await budgets().seed(again, [{ ...account, spentUsd: 3, unpricedCalls: 2, estimatedUsd: 1 }]);
      await budgets().seeded(again);
      expect(await wholeBalanceOf(again, account)).toMatchObject({ spentUsd: 3, unpricedCalls: 2, estimatedUsd: 1 });
      expect((await budgets().reserve(aRequest(again, account))).kind).toBe('refused');
    });

    it('keeps spending for the ledger until it is recorded', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const { reservationId } = aRequest(tenantId, account);
      await budgets().reserve(aRequest(tenantId, account, { reservationId, estimateUsd: 0.75 }));
      await spend(tenantId, { reservationId, costUsd: 0.123457 }, { eventId: 'e', costUsd: 2, accounts: [account] });
      const entries = await budgets().unrecorded(tenantId, 10);
      const { budgetId, scopeId, periodStart } = account;
      const common = { budgetId, scopeId, periodStart, settledAtMs: START_MS, id: expect.any(String), unpriced: false };
      expect(entries).toEqual([
        { ...common, reservationId, estimateUsd: 0.75, costUsd: 0.123457 },
        { ...common, reservationId: 'e', estimateUsd: 0, costUsd: 2 },
      ]);
      await budgets().recorded(tenantId, [entries[0]?.id ?? '']);
      expect(await budgets().unrecorded(tenantId, 10)).toMatchObject([{ reservationId: 'e' }]);
    });

    it('adds costs far below a cent exactly', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const tiny = Array.from({ length: 1_000 }, (_, at) => ({
        eventId: `tiny-${at}`,
        costUsd: 4e-7,
        accounts: [account],
      }));
      await spend(tenantId, ...tiny);
      expect(await balanceOf(tenantId, account)).toEqual({ spentUsd: 0.0004, heldUsd: 0 });
      expect((await budgets().unrecorded(tenantId, 1))[0]?.costUsd).toBe(4e-7);
    });

    it('keeps counting beyond any realistic amount', async () => {
      const [tenantId, account] = [await aTenant(), anAccount()];
      const most = Array.from({ length: 20 }, (_, at) => ({
        eventId: `most-${at}`,
        costUsd: 1e12,
        accounts: [account],
      }));
      await spend(tenantId, ...most);
      expect((await balanceOf(tenantId, account))?.spentUsd).toBeCloseTo(20e9, 0);
      expect(await budgets().reserve(aRequest(tenantId, account))).toMatchObject({ kind: 'refused' });
    });

    it('stores the session of a run per tenant', async () => {
      const [tenantId, runId] = [fresh('tenant'), fresh('run:{}')];
      expect(await budgets().sessionOf(tenantId, runId)).toBeNull();
      await budgets().noteSessions(tenantId, [{ runId, sessionId: 'one' }]);
      await budgets().noteSessions(tenantId, []);
      expect(await budgets().sessionOf(tenantId, runId)).toBe('one');
      expect(await budgets().sessionOf(fresh('tenant'), runId)).toBeNull();
    });

    it('merges the accounts of joined trees, and settles reservations where their money is', async () => {
      const tenantId = await aTenant();
      const of = (scopeId: string, fields: Partial<ChargedAccount> = {}) =>
        anAccount({ ...{ scopeId, ofTree: true }, ...fields });
      const join = (...links: (readonly [string, string])[]) =>
        budgets().joinTrees(
          tenantId,
          links.map(([runId, parentRunId]) => ({ runId, parentRunId })),
          START_MS,
        );
      const held = aRequest(tenantId, of('middle{}'), { estimateUsd: 2 });
      await budgets().reserve(held);
      await spend(tenantId, { eventId: 'a', costUsd: 1, accounts: [of('middle{}')] });
      await spend(tenantId, { eventId: 'b', costUsd: 4, accounts: [of('top:')] });
      await spend(tenantId, { eventId: 'c', costUsd: 8, accounts: [of('middle{}', { periodStart: '2026-03-02' })] });
      for (const _ of [1, 2]) expect(await join(['leaf', 'middle{}'], ['middle{}', 'top:'])).toBe(true);
      for (const run of ['leaf', 'middle{}', 'top:']) {
        expect(await balanceOf(tenantId, of(run))).toEqual({ spentUsd: 5, heldUsd: 2 });
        expect(await balanceOf(tenantId, of(run, { periodStart: '2026-03-02' }))).toEqual({ spentUsd: 8, heldUsd: 0 });
        expect(await balanceOf(tenantId, anAccount({ scopeId: run }))).toEqual({
          spentUsd: run === 'top:' ? 5 : 0,
          heldUsd: run === 'top:' ? 2 : 0,
        });
      }
      expect(await budgets().reserve(held)).toMatchObject({ kind: 'reserved' });
      expect(await spend(tenantId, { reservationId: held.reservationId, costUsd: 1.5 })).toEqual(['settled']);
      await spend(tenantId, { eventId: 'd', costUsd: 0.25, accounts: [of('leaf')] });
      expect(await balanceOf(tenantId, of('middle{}'))).toEqual({ spentUsd: 6.75, heldUsd: 0 });
      const asks = aRequest(tenantId, of('leaf'), { estimateUsd: 3.5 });
      expect((await budgets().reserve(asks)).kind).toBe('refused');
      expect((await budgets().reserve({ ...asks, estimateUsd: 3.25 })).kind).toBe('reserved');
    });

    it('joins no tree of a tenant whose accounts are not seeded, and trees that were seeded', async () => {
      const [tenantId, account] = [fresh('tenant'), anAccount({ scopeId: 'child', ofTree: true })];
      const links = [{ runId: 'child', parentRunId: 'root' }];
      expect(await budgets().joinTrees(tenantId, links, START_MS)).toBe(false);
      await budgets().seed(tenantId, [{ ...account, spentUsd: 3, unpricedCalls: 2, estimatedUsd: 1 }]);
      await budgets().seeded(tenantId);
      await budgets().joinTrees(tenantId, links, START_MS);
      const root = { ...account, scopeId: 'root' };
      expect(await wholeBalanceOf(tenantId, root)).toMatchObject({ spentUsd: 3, unpricedCalls: 2, estimatedUsd: 1 });
      const entries = await budgets().unrecorded(tenantId, 10);
      expect(entries.map(({ scopeId, costUsd, unpriced }) => [scopeId, costUsd, unpriced])).toEqual([
        ['child', -2, false],
        ['root', 2, false],
        ['child', -1, true],
        ['root', 1, true],
      ]);
    });

    it('ends at circles and at runs that name themselves', async () => {
      const tenantId = await aTenant();
      const of = (scopeId: string) => anAccount({ scopeId, ofTree: true });
      for (const run of ['a', 'b', 'c']) await spend(tenantId, { eventId: run, costUsd: 1, accounts: [of(run)] });
      for (const [runId, parentRunId] of [
        ...[['a', 'b'] as const, ['b', 'c'] as const, ['c', 'a'] as const, ['a', 'a'] as const, ['a', 'c'] as const],
      ])
        await budgets().joinTrees(tenantId, [{ runId, parentRunId }], START_MS);
      for (const run of ['a', 'b', 'c'])
        expect(await balanceOf(tenantId, of(run))).toEqual({ spentUsd: 3, heldUsd: 0 });
    });

    it('neither creates nor loses money, in any order of links, reservations, settlements and releases', async () => {
      const RUNS = 6;
      const run = fc.nat(RUNS - 1);
      const money = fc.integer({ min: 1, max: 5_000_000 }).map((micros) => micros / 1e6);
      const step = fc.oneof(
        fc.record({ do: fc.constant('link' as const), run, parent: run }),
        fc.record({ do: fc.constant('reserve' as const), run, money }),
        fc.record({ do: fc.constant('charge' as const), run, money }),
        fc.record({ do: fc.constant('settle' as const), which: fc.nat(), money }),
        fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(20_000, 70_000) }),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
          const tenantId = await aTenant();
          const of = (at: number) => anAccount({ budgetId: 'tree', scopeId: `run-${at}`, ofTree: true });
          const whole = anAccount({ budgetId: 'tenant', scopeId: 'tenant' });
          const accountsOf = (at: number) => [of(at), whole];
          let nowMs = START_MS;
          // The model: groups of runs, and money by the run that it was first counted for.
          const group = Array.from({ length: RUNS }, (_, at) => at);
          const spentBy = Array.from({ length: RUNS }, () => 0);
          const open: { id: string; run: number; money: number; untilMs: number; isOpen: boolean }[] = [];
          const micros = (usd: number) => Math.round(usd * 1e6);
          for (const [at, one] of steps.entries()) {
            if (one.do === 'link') {
              const links = [{ runId: `run-${one.run}`, parentRunId: `run-${one.parent}` }];
              await budgets().joinTrees(tenantId, links, nowMs);
              const [from, to] = [group[one.run], group[one.parent]];
              for (const [other, its] of group.entries()) if (its === from) group[other] = to ?? 0;
            } else if (one.do === 'reserve') {
              const id = `reservation-${at}`;
              const expiresAtMs = nowMs + 60_000;
              const accounts = accountsOf(one.run).map((account) => ({ ...account, limitUsd: 1_000_000 }));
              const request = aRequest(tenantId, whole, { accounts, reservationId: id, estimateUsd: one.money });
              expect((await budgets().reserve({ ...request, nowMs, expiresAtMs })).kind).toBe('reserved');
              open.push({ id, run: one.run, money: one.money, untilMs: expiresAtMs, isOpen: true });
            } else if (one.do === 'charge') {
              const charge = { eventId: `event-${at}`, costUsd: one.money, accounts: accountsOf(one.run) };
              await budgets().spend(tenantId, [charge], nowMs);
              spentBy[one.run] = (spentBy[one.run] ?? 0) + micros(one.money);
            } else if (one.do === 'settle') {
              const settled = open[one.which % Math.max(1, open.length)];
              if (settled === undefined) continue;
              const spending = { reservationId: settled.id, costUsd: one.money, accounts: [] };
              const [answer] = (await budgets().spend(tenantId, [spending], nowMs)) ?? [];
              expect(answer).toBe(settled.isOpen ? 'settled' : 'repeated');
              if (settled.isOpen) spentBy[settled.run] = (spentBy[settled.run] ?? 0) + micros(one.money);
              settled.isOpen = false;
            } else nowMs += one.ms;
          }
          const sum = (amounts: readonly number[]) => amounts.reduce((all, amount) => all + amount, 0);
          const isHeld = ({ isOpen, untilMs }: (typeof open)[number]) => isOpen && untilMs > nowMs;
          const inGroup = (at: number, other: number) => group[at] === group[other];
          const expected = (belongs: (other: number) => boolean) => ({
            spent: sum(spentBy.filter((_, other) => belongs(other))),
            held: sum(open.filter((one) => isHeld(one) && belongs(one.run)).map((one) => micros(one.money))),
          });
          const balance = async (account: ChargedAccount) => {
            const { spentUsd = 0, heldUsd = 0 } = (await balanceOf(tenantId, account, nowMs)) ?? {};
            return { spent: micros(spentUsd), held: micros(heldUsd) };
          };
          for (const at of group.keys()) expect(await balance(of(at))).toEqual(expected((other) => inGroup(at, other)));
          expect(await balance(whole)).toEqual(expected(() => true));
          // The ledger agrees: each group has its money in one of its trees, and nothing in the others.
          const entries = await budgets().unrecorded(tenantId, 1_000);
          const recorded = (scopeId: string) =>
            micros(sum(entries.filter((entry) => entry.scopeId === scopeId).map(({ costUsd }) => costUsd)));
          for (const at of group.keys()) {
            const members = [...group.keys()].filter((other) => inGroup(at, other));
            const amounts = members.map((other) => recorded(`run-${other}`)).filter((amount) => amount !== 0);
            const { spent } = expected((other) => inGroup(at, other));
            expect(amounts).toEqual(spent === 0 ? [] : [spent]);
          }
        }),
        { numRuns: numRuns * 5 },
      );
    });

    it('lets 500 concurrent callers fill a budget exactly to its limit', async () => {
      const amount = fc.integer({ min: 1, max: 200_000 }).map((micros) => micros / 1e6);
      const callers = fc.array(fc.record({ estimate: amount, error: amount }), { minLength: 500, maxLength: 500 });
      await fc.assert(
        fc.asyncProperty(callers, async (all) => {
          const [tenantId, account] = [await aTenant(), anAccount()];
          const answers = await Promise.all(
            all.map(async ({ estimate, error }) => {
              const request = aRequest(tenantId, account, { estimateUsd: estimate });
              const { kind } = await budgets().reserve(request);
              if (kind !== 'reserved') return { refused: estimate };
              const cost = estimate + error;
              await spend(tenantId, { reservationId: request.reservationId, costUsd: cost });
              return { overshoot: error };
            }),
          );
          const { spentUsd = 0 } = (await balanceOf(tenantId, account)) ?? {};
          const errors = answers.reduce((sum, { overshoot = 0 }) => sum + overshoot, 0);
          expect(spentUsd - errors).toBeLessThanOrEqual(10 + 1e-6);
          // A refused caller asked for more than is left even now that nothing is held.
          const left = 10 - spentUsd;
          for (const { refused } of answers) if (refused !== undefined) expect(refused).toBeGreaterThan(left - 1e-6);
        }),
        { numRuns },
      );
    });
  });
}
