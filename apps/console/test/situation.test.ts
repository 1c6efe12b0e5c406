import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { situation } from '../src/now/situation.ts';

type Now = Parameters<typeof situation>[0];

const AT = Date.UTC(2026, 10, 26, 3);
const iso = (offsetMs: number) => new Date(AT + offsetMs).toISOString();

/** Only what the headline reads. */
const someNow = fc.record({
  approvals: fc.array(
    fc.record({ expiresAt: fc.option(fc.integer({ min: -60_000, max: 7_200_000 }).map(iso), { nil: undefined }) }),
    { maxLength: 4 },
  ),
  openAlerts: fc.nat(3),
  orders: fc.array(
    fc.record({
      scope: fc.constantFrom('run', 'agent', 'tenant'),
      scopeId: fc.constantFrom('a', 'b', 'c'),
      state: fc.constantFrom('killed', 'paused'),
    }),
    { maxLength: 3 },
  ),
  pausedAgents: fc.array(
    fc.record({ id: fc.string(), control: fc.record({ source: fc.constantFrom('rule', 'order') }) }),
    {
      maxLength: 2,
    },
  ),
  openBreakers: fc.array(fc.record({ agentId: fc.string() }), { maxLength: 3 }),
  budgets: fc.array(
    fc.record({
      budget: fc.record({
        id: fc.string(),
        name: fc.string(),
        period: fc.constantFrom('day', 'month', 'total'),
        limitUsd: fc.constant(10),
      }),
      pots: fc.array(
        fc
          .float({ min: 0, max: 20, noNaN: true })
          .map((spentUsd) => ({ spentUsd, remainingUsd: 10 - spentUsd, periodStart: iso(0).slice(0, 10) })),
        { maxLength: 2 },
      ),
    }),
    { maxLength: 4 },
  ),
  deliveries: fc.record({ settled: fc.nat(5), failed: fc.nat(2) }),
  lag: fc.option(fc.array(fc.record({ group: fc.string(), oldestAgeMs: fc.nat(20_000) }), { maxLength: 3 })),
  pulse: fc.record({ bypassed: fc.nat(1) }),
  running: fc.array(fc.record({ runs: fc.nat(3) }), { maxLength: 2 }),
  unusual: fc.record({
    changedRules: fc.array(
      fc.record({
        ...{ ruleId: fc.string(), name: fc.string(), version: fc.integer({ min: 1 }), changedAt: fc.constant(iso(0)) },
        ...{ changedBy: fc.option(fc.string()), asked: fc.integer({ min: 5, max: 20 }), stopped: fc.constant(5) },
        ...{ askedBefore: fc.nat(9), stoppedBefore: fc.constant(0) },
      }),
      { maxLength: 2 },
    ),
    spend: fc.option(fc.record({ usd: fc.constant(15), usualUsd: fc.constantFrom(0, 1), of: fc.constant('last day') })),
    errors: fc.option(
      fc.record({ errors: fc.constant(40), usualErrors: fc.constantFrom(0, 2), of: fc.constant('this hour') }),
    ),
    loops: fc.array(fc.record({ runId: fc.string(), agentId: fc.string(), toolName: fc.string(), times: fc.nat() }), {
      maxLength: 2,
    }),
    unanswerable: fc.nat(2),
  }),
});
const read = (now: unknown) => situation(now as Now, AT);

/** Whether any list of a situation holds something. */
function hasAny(now: Now): boolean {
  return (
    now.approvals.length > 0 ||
    now.openBreakers.length > 0 ||
    now.orders.length > 0 ||
    now.pausedAgents.some(({ control }) => control.source === 'rule') ||
    now.budgets.some(({ pots }) => pots.some(({ remainingUsd }) => remainingUsd <= 0)) ||
    now.deliveries.failed > 0 ||
    now.lag === null ||
    now.lag.some(({ oldestAgeMs }) => oldestAgeMs >= 10_000) ||
    now.pulse.bypassed > 0 ||
    now.openAlerts > 0 ||
    now.unusual.changedRules.length > 0 ||
    now.unusual.spend !== null ||
    now.unusual.errors !== null ||
    now.unusual.loops.length > 0 ||
    now.unusual.unanswerable > 0
  );
}

const ORDER = [
  'approvals',
  'changed-rules',
  'spend',
  'errors',
  'loops',
  'breakers',
  'killed',
  'paused',
  'spent',
  'nearly-spent',
  'deliveries',
  'behind',
  'bypassed',
  'alerts',
  'unanswerable',
];

void describe('the headline of Now', () => {
  void it('is quiet only if every list is empty, and shows or counts every kind of fact once', () => {
    fc.assert(
      fc.property(someNow, (now) => {
        const { facts, others, quiet } = read(now);
        if (hasAny(now as unknown as Now)) assert.equal(quiet, false);
        assert.equal(quiet, facts.length === 0);
        if (others.length > 0) assert.equal(facts.length, 4);
        const kinds = [...facts, ...others].map(({ kind }) => kind);
        assert.equal(new Set(kinds).size, kinds.length);
        assert.deepEqual(
          kinds,
          [...kinds].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)),
        );
      }),
    );
  });

  void it('always leads with what expires, then with what differs from before, and leaves no kill out', () => {
    fc.assert(
      fc.property(someNow, (now) => {
        const { facts, others } = read(now);
        const kinds = facts.map(({ kind }) => kind);
        if (now.approvals.length > 0) assert.equal(kinds[0], 'approvals');
        if (now.unusual.changedRules.length > 0) assert.ok(kinds.slice(0, 2).includes('changed-rules'));
        if (now.orders.some(({ state }) => state === 'killed'))
          assert.ok([...facts, ...others].some(({ kind }) => kind === 'killed'));
      }),
    );
  });

  void it('says what differs from before, since when, by whom and after which deploy', () => {
    const rule = {
      ...{ ruleId: 'r1', name: 'Invoices above 50 EUR', version: 2, changedAt: iso(0), changedBy: 'Ada' },
      ...{ asked: 20, stopped: 20, askedBefore: 100, stoppedBefore: 1, deploy: '3.1.0 of billing' },
    };
    const unusual = { changedRules: [rule], spend: null, errors: null, loops: [], unanswerable: 0 };
    const [text] = textOf({ unusual });
    assert.match(
      text ?? '',
      /^“Invoices above 50 EUR” stops 100 % of its calls since .*, before 1 % \(v2 by Ada, just/,
    );
    assert.match(text ?? '', /just after the deploy of 3\.1\.0 of billing\)$/);
    const spend = { usd: 15, usualUsd: 1, of: 'this hour' };
    assert.deepEqual(textOf({ unusual: { ...unusual, changedRules: [], spend } }), [
      '$15.00 in the last hour is 15 times the usual at this hour',
    ]);
    const errors = { errors: 40, usualErrors: 2, of: 'last day' };
    assert.deepEqual(textOf({ unusual: { ...unusual, changedRules: [], errors } }), [
      '40 errors in the last hour are 20 times the hourly mean of the last day',
    ]);
    const loops = [{ runId: 'r', agentId: 'research-bot', toolName: 'search', times: 60 }];
    assert.deepEqual(textOf({ unusual: { ...unusual, changedRules: [], loops } }), [
      'a run of research-bot repeats one call of search, 60 times in the last hour',
    ]);
  });

  const NOTHING = {
    ...{
      approvals: [],
      openAlerts: 0,
      orders: [],
      pausedAgents: [],
      openBreakers: [],
      budgets: [],
      lag: [],
      running: [],
    },
    ...{ deliveries: { settled: 3, failed: 0 }, pulse: { bypassed: 0 } },
    unusual: { changedRules: [], spend: null, errors: null, loops: [], unanswerable: 0 },
  };
  const textOf = (now: object) => read({ ...NOTHING, ...now }).facts.map(({ subject, rest }) => `${subject} ${rest}`);

  void it('folds equal facts', () => {
    const pots = [{ spentUsd: 10, remainingUsd: 0, periodStart: iso(0).slice(0, 10) }];
    const budget = (name: string) => ({ budget: { id: name, name, period: 'day', limitUsd: 10 }, pots });
    const order = (scopeId: string, scope = 'agent') => ({ scope, scopeId, state: 'killed' });
    assert.deepEqual(textOf({ budgets: [budget('A'), budget('B'), budget('C')] }), ['3 budgets are spent']);
    assert.deepEqual(textOf({ budgets: [budget('A')] }), ['the budget A is spent']);
    assert.deepEqual(textOf({ orders: [order('bot'), order('r-1', 'run')] }), ['2 agents and runs are killed']);
    assert.deepEqual(textOf({ orders: [order('', 'tenant'), order('bot')] }), ['every agent is killed']);
    assert.deepEqual(textOf({ orders: [order('release-bot')] }), ['release-bot is killed']);
  });

  void it('says when the first approval expires', () => {
    const approvals = [{ expiresAt: iso(30 * 60_000) }, { expiresAt: iso(108_000) }];
    assert.deepEqual(textOf({ approvals }), ['2 calls need approval, the first expires in 2 minutes']);
    assert.deepEqual(textOf({ approvals: approvals.slice(0, 1) }), ['1 call needs approval and expires in 30 minutes']);
    assert.deepEqual(textOf({ approvals: [{}] }), ['1 call needs approval']);
  });

  void it('keeps what it does not show', () => {
    const now = { approvals: [{}], openAlerts: 1, lag: null, openBreakers: [{ agentId: 'a' }], pulse: { bypassed: 2 } };
    assert.deepEqual(
      read({ ...NOTHING, ...now }).others.map(({ kind }) => kind),
      ['alerts'],
    );
    const unusual = { ...NOTHING.unusual, unanswerable: 1 };
    assert.deepEqual(
      read({ ...NOTHING, ...now, unusual }).others.map(({ kind }) => kind),
      ['alerts', 'unanswerable'],
    );
    assert.deepEqual(read(NOTHING), { facts: [], others: [], quiet: true, running: 'No run in progress.' });
  });
});
