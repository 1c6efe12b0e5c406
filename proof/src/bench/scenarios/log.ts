import { median } from '../../harness/statistics.ts';
import { until } from '../../harness/time.ts';
import { type LoadCost, type LoadShape, SHAPES } from '../against/shapes.ts';
import { TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';
import type { Stage } from '../stage.ts';

const ROUNDS = 4;
const LOADS = ['events-100', 'decisions', 'decisions-16'];
const SEALED_DEADLINE_MS = 120_000;

/** Facts that do not get into `log_pending` are not sealed, and cost what a platform without the log would cost. */
const SWITCH_OFF = `
  create or replace function bench_skip_log() returns trigger language plpgsql as $$ begin return null; end $$;
  create or replace trigger bench_skip_log before insert on log_pending for each row execute function bench_skip_log()`;
const SWITCH_ON = 'drop trigger if exists bench_skip_log on log_pending';

/** What the provable log costs: the same loads with the log and without it, in turn. */
export const log: Scenario = {
  name: 'log',
  title: 'events and decisions with the provable log and without it, in turn',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('standalone');
    await stage.setRules(TEN_RULES);
    try {
      for (const shape of SHAPES.filter(({ name }) => LOADS.includes(name))) await compareOn(stage, shape, bench);
    } finally {
      await stage.pool.query(SWITCH_ON);
    }
  },
};

async function compareOn(stage: Stage, shape: LoadShape, bench: Bench): Promise<void> {
  const found: Record<'on' | 'off', LoadCost[]> = { on: [], off: [] };
  const startedAt = performance.now();
  // The first round warms up. Each side is first in every other round.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const side of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      bench.progress(`${shape.name}, log ${side}, round ${round} of ${ROUNDS}`);
      await stage.pool.query(side === 'on' ? SWITCH_ON : SWITCH_OFF);
      const cost = await shape.measure(stage, bench.seconds, () => waitUntilSealed(stage));
      if (round > 0) found[side].push(cost);
    }
  }
  const ratio = (read: (cost: LoadCost) => number) =>
    (median(found.on.map(read)) / median(found.off.map(read))).toFixed(3);
  const micros = (side: 'on' | 'off') => `${median(found[side].map((cost) => cost.platformMicros)).toFixed(1)} µs`;
  bench.found({
    ...{ scenario: 'log', variant: shape.name, shape: 'standalone', unit: 'process' },
    ...{ count: found.on.length + found.off.length, seconds: (performance.now() - startedAt) / 1000 },
    ...{ cpuMicros: {}, latency: {}, rssBytes: {}, checks: [] },
    notes: {
      [`CPU per ${shape.unit}, on`]: micros('on'),
      [`CPU per ${shape.unit}, off`]: micros('off'),
      'CPU, on : off': ratio(({ platformMicros }) => platformMicros),
      'CPU with Postgres, on : off': ratio(({ platformMicros, serverMicros }) => platformMicros + serverMicros),
      'p50, on : off': ratio(({ p50 }) => p50),
      'p99, on : off': ratio(({ p99 }) => p99),
    },
  });
}

/** What is left would be sealed, and paid for, in the round of the other side. */
async function waitUntilSealed({ pool }: Stage): Promise<void> {
  await until(
    'every fact to be sealed',
    async () => {
      const { rows } = await pool.query<{ waiting: number }>('select count(*)::int as waiting from log_pending');
      return rows[0]?.waiting === 0 ? true : undefined;
    },
    SEALED_DEADLINE_MS,
  );
}
