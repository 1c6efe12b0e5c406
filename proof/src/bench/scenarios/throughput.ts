import { measureLoad } from '../measure-load.ts';
import { TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';

/** As many events as the platform takes, with ten rules of every kind. */
function throughput(name: string, batchSize: number, concurrency: number, smoke: boolean): Scenario {
  return {
    name,
    title: `${batchSize === 1 ? 'single-event requests' : `requests of ${batchSize} events`}, 10 rules, as fast as they are taken`,
    smoke,
    async run(bench: Bench) {
      const stage = await bench.stage('distributed');
      await stage.setRules(TEN_RULES);
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

export const batchesOf100 = throughput('T1', 100, 16, true);
export const batchesOf10 = throughput('T2', 10, 64, false);
export const singleEvents = throughput('T3', 1, 64, false);
