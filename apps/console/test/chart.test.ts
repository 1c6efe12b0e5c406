import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeMarkers } from '../src/charts/changes.ts';
import { foldMarkers, frameOf, stacked, summaryOf, tickLabel, timeTicks, UNITS } from '../src/charts/data.ts';

interface Row {
  readonly at: number;
  readonly a: number | null;
  readonly b: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const frame = (rows: readonly Row[], missing: 0 | null = null) =>
  frameOf(rows, ({ at }) => at, MINUTE, { from: 0, to: 4 * MINUTE }, [
    { id: 'a', name: 'A', tone: 'bad', shape: 'bar', value: ({ a }) => a, missing },
    { id: 'b', name: 'B', tone: 'accent', shape: 'bar', value: ({ b }) => b, missing },
    { id: 'line', name: 'Line', tone: 'mute', shape: 'line', value: ({ b }) => b, missing },
  ]);

void describe('the numbers of a chart', () => {
  void it('has every bucket of the range, with a gap or a zero where no row is', () => {
    const rows = [
      { at: 0, a: 1, b: 2 },
      { at: 3 * MINUTE, a: 3, b: 4 },
    ];
    assert.deepEqual(frame(rows).times, [0, MINUTE, 2 * MINUTE, 3 * MINUTE]);
    assert.deepEqual(frame(rows).series[0]?.values, [1, null, null, 3]);
    assert.deepEqual(frame(rows, 0).series[0]?.values, [1, 0, 0, 3]);
  });

  void it('takes the grid of its rows, so that no bucket is shifted', () => {
    const { times, range } = frameOf([{ at: 30 }], ({ at }) => at, 100, { from: 0, to: 200 }, []);
    assert.deepEqual(times, [-70, 30, 130]);
    assert.deepEqual(range, { from: -70, to: 230 });
  });

  void it('stacks bars and areas, leaves lines alone and keeps gaps', () => {
    const rows = [
      { at: 0, a: 1, b: 2 },
      { at: MINUTE, a: null, b: 5 },
    ];
    assert.deepEqual(stacked(frame(rows)), [
      [1, null, null, null],
      [3, 5, null, null],
      [2, 5, null, null],
    ]);
  });

  void it('sums what may be summed and gives the latest of the rest', () => {
    assert.deepEqual(summaryOf([1, null, 4], UNITS.count), { value: 5, word: 'total' });
    assert.deepEqual(summaryOf([1, 4, null], UNITS.ms), { value: 4, word: 'latest' });
    assert.deepEqual(summaryOf([null], UNITS.ms), { value: null, word: '' });
  });
});

void describe('markers', () => {
  const change = (at: number) => ({ at, label: `Rule changed at ${at}`, href: 'guardrails/1' });

  void it('fold into one if they are too close to tell apart, and keep every deploy', () => {
    const deploy = { at: 12, label: 'Deploy 1.2.0', tag: '1.2.0' };
    const groups = foldMarkers([change(11), deploy, change(10), change(19), change(20), change(40)], 10);
    assert.deepEqual(
      groups.map(({ at, count, href, tag }) => [at, count, href, tag]),
      [
        [10, 3, 'audit', undefined],
        [20, 1, 'guardrails/1', undefined],
        [40, 1, 'guardrails/1', undefined],
        [12, 1, undefined, '1.2.0'],
      ],
    );
  });

  void it('name at most eight changes', () => {
    const [group] = foldMarkers(
      Array.from({ length: 50 }, (_, at) => change(at)),
      1_000,
    );
    assert.equal(group?.count, 50);
    assert.deepEqual(group?.label.split('\n').slice(-1), ['and 42 more']);
    assert.equal(group?.label.split('\n').length, 10);
  });
});

void describe('the changes beside a chart', () => {
  const change = (kind: string, targetId: string, after: object) =>
    ({
      ...{ kind, target: kind.slice(0, kind.indexOf('.')), targetId, changedAt: '2026-11-26T03:00:00.000Z' },
      ...{ before: null, after },
    }) as unknown as Parameters<typeof changeMarkers>[0][number];
  const all = [
    change('rule.changed', 'r1', { name: 'mine', agentId: 'bot' }),
    change('rule.changed', 'r2', { name: 'of another', agentId: 'other' }),
    change('rule.created', 'r3', { name: 'of all' }),
    change('budget.created', 'b1', { name: 'of its budget', scope: 'agent', scopeId: 'bot' }),
    change('budget.created', 'b2', { name: 'of another budget', scope: 'agent', scopeId: 'other' }),
    change('budget.created', 'b3', { name: 'of the tenant', scope: 'tenant', scopeId: 'acme' }),
    change('breaker_limits.set', 'agent:other', {}),
    change('settings.changed', 'acme', {}),
  ];

  void it('are all of the tenant on its pages, and those that can concern an agent on its own', () => {
    assert.equal(changeMarkers(all, undefined).length, all.length);
    assert.deepEqual(
      changeMarkers(all, 'bot').map(({ label }) => label),
      [
        ...['Rule changed: mine', 'Rule created: of all', 'Budget created: of its budget'],
        ...['Budget created: of the tenant', 'Settings changed'],
      ],
    );
  });
});

void describe('the time axis', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns', 'Pacific/Chatham']) {
    void it(`has round times of ${zone}, the day at midnight, few enough, in order, at any length of range`, () => {
      for (let hours = 1; hours < 24 * 400; hours = Math.ceil(hours * 1.7)) {
        const from = Date.UTC(2026, 9, 24, 7, 13);
        const ticks = timeTicks({ from, to: from + hours * HOUR }, zone, 8);
        assert.ok(ticks.length >= 1 && ticks.length <= 10, `${hours} h: ${ticks.length} ticks`);
        assert.deepEqual(
          ticks,
          [...new Set(ticks)].sort((a, b) => a - b),
        );
        for (const tick of ticks) {
          const label = tickLabel(tick, zone);
          assert.match(label, hours > 24 * 9 ? /^\d+ \w{3}$/ : /^(\d\d:[0-5][05]|\d+ \w{3}|\d\d:\d\d)$/);
        }
      }
    });
  }

  void it('stands on midnight of both sides of the end of summer time', () => {
    const from = Date.UTC(2026, 9, 24, 10);
    const ticks = timeTicks({ from, to: from + 72 * HOUR }, 'Europe/Berlin', 4);
    assert.deepEqual(
      ticks.map((at) => tickLabel(at, 'Europe/Berlin')),
      ['25 Oct', '26 Oct', '27 Oct'],
    );
  });
});
