import { TEN_RULES } from '../rule-drafts.ts';
import type { Scenario } from '../scenario.ts';
import { measureVariants } from '../variants.ts';

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
