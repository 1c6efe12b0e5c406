import { measureLoad } from '../measure-load.ts';
import { delivered } from '../on-record.ts';
import { until } from '../poll.ts';
import { atEveryMarker } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';
import { WebhookSink } from '../webhook-sink.ts';

const RATES = [100, 500];
const DEADLINE_MS = 60_000;

/** Every event fires a rule, and every trigger calls a webhook on this machine. */
export const webhooks: Scenario = {
  name: 'webhooks',
  title: `every event fires and calls a webhook, at ${RATES.join(' and ')} triggers/s, and as fast as they are accepted`,
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    const sink = await WebhookSink.open();
    try {
      await stage.setRules([atEveryMarker({ webhookUrl: sink.url })]);
      for (const rate of [...RATES, undefined]) {
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
