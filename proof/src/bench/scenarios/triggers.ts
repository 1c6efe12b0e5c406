import { until } from '../../harness/time.ts';
import { type MeasuredLoadPlan, measureLoad } from '../measure-load.ts';
import { delivered } from '../progress.ts';
import { atEveryMarker, TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';
import { TriggerLatencyWatch } from '../trigger-watch.ts';
import { WebhookSink } from '../webhook-sink.ts';

type Rate = Pick<MeasuredLoadPlan, 'variant' | 'batchSize' | 'concurrency' | 'markEvery'> & {
  eventsPerSecond?: number;
};

const EVENT_RATES: readonly Rate[] = [
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
      for (const rate of bench.smoke ? EVENT_RATES.slice(0, 1) : EVENT_RATES) {
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

const TRIGGERS_PER_SECOND = [100, 500];
const DEADLINE_MS = 60_000;

/** Every event fires a rule, and every trigger calls a webhook on this machine. */
export const webhooks: Scenario = {
  name: 'webhooks',
  title: `every event fires and calls a webhook, at ${TRIGGERS_PER_SECOND.join(' and ')} triggers/s, and as fast as they are accepted`,
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    const sink = await WebhookSink.open();
    try {
      await stage.setRules([atEveryMarker({ webhookUrl: sink.url })]);
      for (const rate of [...TRIGGERS_PER_SECOND, undefined]) {
        const variant = rate === undefined ? 'saturated, 1 s of load' : `${rate} triggers/s`;
        bench.progress(`webhooks: ${variant}`);
        sink.forget();
        const figure = await measureLoad(stage, {
          scenario: 'webhooks',
          variant,
          batchSize: 1,
          concurrency: 64,
          seconds: rate === undefined ? 1 : bench.seconds,
          markEvery: 1,
          ...(rate === undefined ? {} : { eventsPerSecond: rate }),
          async afterTriggers(report, label) {
            const seen = await sink.compare(report);
            const expected = Object.keys(report.markers).length;
            const settled = async () => ((await delivered(stage.pool, label)) >= expected ? true : undefined);
            await until('deliveries to be settled', settled, DEADLINE_MS);
            const actual = await delivered(stage.pool, label);
            return { ...seen, checks: [...seen.checks, { name: 'deliveries settled', expected, actual }] };
          },
        });
        bench.found({ ...figure, unit: 'trigger' });
        await stage.forgetEvents();
      }
    } finally {
      await sink.close();
    }
  },
};
