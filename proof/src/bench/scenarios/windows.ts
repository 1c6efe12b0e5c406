import { tenCountsOver } from '../rule-drafts.ts';
import type { Scenario } from '../scenario.ts';
import { measureVariants } from '../variants.ts';

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
