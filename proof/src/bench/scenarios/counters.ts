import { distinctCounters } from '../rule-drafts.ts';
import type { Scenario } from '../scenario.ts';
import { measureVariants } from '../variants.ts';

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
