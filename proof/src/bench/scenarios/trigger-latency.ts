import { type MeasuredLoadPlan, measureLoad } from '../measure-load.ts';
import { atEveryMarker, TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';
import { TriggerLatencyWatch } from '../trigger-watch.ts';

type Rate = Pick<MeasuredLoadPlan, 'variant' | 'batchSize' | 'concurrency' | 'markEvery'> & {
  eventsPerSecond?: number;
};

const RATES: readonly Rate[] = [
  { variant: '1,000 events/s', batchSize: 10, concurrency: 64, markEvery: 1, eventsPerSecond: 1_000 },
  { variant: '5,000 events/s', batchSize: 50, concurrency: 64, markEvery: 1, eventsPerSecond: 5_000 },
  { variant: 'saturated', batchSize: 100, concurrency: 16, markEvery: 5 },
];

/** From sending the request until a subscriber on NATS receives the trigger. */
export const triggerLatency: Scenario = {
  name: 'trigger-latency',
  title: 'request sent to trigger seen on NATS, with ten quiet rules and one that fires, at three rates',
  smoke: true,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    const { natsUrl } = stage.stack;
    if (natsUrl === undefined) throw new Error('the distributed shape has a NATS server');
    await stage.setRules([...TEN_RULES, atEveryMarker('dry run')]);
    const watch = await TriggerLatencyWatch.open(natsUrl);
    try {
      for (const rate of bench.smoke ? RATES.slice(0, 1) : RATES) {
        bench.progress(`trigger-latency: ${rate.variant}`);
        watch.forget();
        const plan = { scenario: 'trigger-latency', seconds: bench.seconds, ...rate };
        bench.found(await measureLoad(stage, { ...plan, afterTriggers: (report) => watch.compare(report) }));
        await stage.forgetEvents();
      }
    } finally {
      await watch.close();
    }
  },
};
