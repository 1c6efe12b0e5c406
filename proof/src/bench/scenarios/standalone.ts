import { measureLoad } from '../measure-load.ts';
import { TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';

/** The same as T1 in one process, with its bus and its windows in memory. */
export const standalone: Scenario = {
  name: 'standalone',
  title: 'requests of 100 events, 10 rules, all services in one process',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('standalone');
    await stage.setRules(TEN_RULES);
    const plan = { scenario: 'standalone', batchSize: 100, concurrency: 16, seconds: bench.seconds };
    bench.found(await measureLoad(stage, { ...plan, variant: 'batch 100' }));
    await stage.forgetEvents();
    const steady = { ...plan, variant: '1,000 events/s, batch 10', batchSize: 10, eventsPerSecond: 1_000 };
    bench.found(await measureLoad(stage, steady));
    await stage.forgetEvents();
  },
};
