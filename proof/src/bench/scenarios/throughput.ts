import { measureLoad, warmUp } from '../measure-load.ts';
import { TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';

/** Requests in flight, by the number of events per request. */
export const THROUGHPUT = {
  T1: { batchSize: 100, concurrency: 16 },
  T2: { batchSize: 10, concurrency: 64 },
  T3: { batchSize: 1, concurrency: 64 },
} as const;

/** As many events as the platform accepts, with ten rules of every kind. */
function throughput(name: keyof typeof THROUGHPUT, smoke: boolean): Scenario {
  const { batchSize, concurrency } = THROUGHPUT[name];
  return {
    name,
    title: `${batchSize === 1 ? 'single-event requests' : `requests of ${batchSize} events`}, 10 rules, as fast as they are accepted`,
    smoke,
    async run(bench: Bench) {
      const stage = await bench.stage('distributed');
      await stage.setRules(TEN_RULES);
      if (!bench.smoke) await warmUp(stage, { scenario: name, batchSize, concurrency }, (text) => bench.progress(text));
      bench.found(
        await measureLoad(stage, {
          scenario: name,
          variant: `batch ${batchSize}`,
          batchSize,
          concurrency,
          seconds: bench.seconds,
        }),
      );
      await stage.forgetEvents();
    },
  };
}

export const batchesOf100 = throughput('T1', true);
export const batchesOf10 = throughput('T2', false);
export const singleEvents = throughput('T3', false);

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
