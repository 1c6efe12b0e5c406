import { distinctCounters, ruleOfAbsentAgent, TEN_RULES, tenCountsOver } from '../rule-drafts.ts';
import type { Scenario } from '../scenario.ts';
import { measureVariants, type Variant } from '../variants.ts';

const NONE = 'no rules';
const TEN = '10 rules';

/** The cost of ten rules, and of thousands that do not apply to the events. */
export const rules: Scenario = {
  name: 'rules',
  title: '0, 10, 1,000 and 10,000 rules, all but ten of them for agents that send nothing',
  smoke: false,
  run: (bench) =>
    measureVariants(bench, 'rules', { batchSize: 100, concurrency: 16, seconds: bench.seconds }, [
      {
        name: NONE,
        async prepare(stage) {
          await stage.setRules([]);
          return {};
        },
      },
      tenAnd(0),
      tenAnd(1_000),
      tenAnd(10_000),
    ]),
};

function tenAnd(others: number): Variant {
  return {
    name: others === 0 ? TEN : `${TEN} + ${others} others`,
    beside: others === 0 ? NONE : TEN,
    async prepare(stage) {
      const ids = await stage.setRules(others === 0 ? TEN_RULES : [...TEN_RULES, ruleOfAbsentAgent('absent-0')]);
      const last = ids.at(-1);
      if (others > 1 && last !== undefined) await stage.addAbsent(last, others - 1);
      return {};
    },
  };
}

/** The cost of an event that updates many counters: each of these rules counts in its own window. */
export const counters: Scenario = {
  name: 'counters',
  title: '1, 10 and 50 rules that match every event and share nothing',
  smoke: false,
  run: (bench) =>
    measureVariants(
      bench,
      'counters',
      { batchSize: 100, concurrency: 16, seconds: bench.seconds / 2 },
      [1, 10, 50].map((count) => ({
        name: `${count} counter${count === 1 ? '' : 's'} an event`,
        async prepare(stage) {
          await stage.setRules(distinctCounters(count));
          return {};
        },
      })),
    ),
};

const LENGTHS = [
  { name: '1 min', minutes: 1 },
  { name: '24 h', minutes: 1_440, beside: '1 min' },
];

/** Whether long windows cost more than short ones. */
export const windows: Scenario = {
  name: 'windows',
  title: 'ten rules over windows of 1 minute and of 24 hours',
  smoke: false,
  run: (bench) =>
    measureVariants(
      bench,
      'windows',
      { batchSize: 100, concurrency: 16, seconds: bench.seconds / 2 },
      LENGTHS.map(({ minutes, ...named }) => ({
        ...named,
        async prepare(stage) {
          await stage.setRules(tenCountsOver(minutes));
          return {};
        },
      })),
    ),
};

const EVENTS_PER_SECOND = 10_000;
const ONE = '1 tenant';

/** Whether the same load costs more from many tenants than from one. */
export const tenants: Scenario = {
  name: 'tenants',
  title: `1 and 1,000 tenants with ten rules each, in total ${EVENTS_PER_SECOND} events/s in requests of 10`,
  smoke: false,
  run: (bench) =>
    measureVariants(
      bench,
      'tenants',
      { batchSize: 10, concurrency: 64, seconds: bench.seconds / 2, eventsPerSecond: EVENTS_PER_SECOND },
      [1, 1_000].map((count) => ({
        name: count === 1 ? ONE : `${count} tenants`,
        ...(count === 1 ? {} : { beside: ONE }),
        async prepare(stage) {
          await stage.setRules(TEN_RULES);
          return { keys: await stage.tenantsWithRules(count), agents: 1_000 };
        },
      })),
    ),
};
