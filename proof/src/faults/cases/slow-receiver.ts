import type { ServerResponse } from 'node:http';
import { usageOf } from '../../harness/process-usage.ts';
import { quantile } from '../../harness/statistics.ts';
import { atMost, equal } from '../check.ts';
import type { Fault, Lab } from '../fault.ts';
import type { Site } from '../site.ts';

/** Below this, scaled by the slowness of the machine, a ratio of latencies is noise. */
const FLOOR_MS = 50;
const MEGABYTE = 1_048_576;
const ENDPOINTS = 50;
/**
 * About two seconds. The harness works for about 20 ms of each second, which could hit only one half of fewer rounds.
 */
const ROUNDS = 24;
/** Until the dispatcher's heap has the size that its work needs. A growing process says nothing about receivers. */
const WARM_UP_ROUNDS = 24;

const slowReceiver: Fault = {
  id: 'F-15',
  title: 'one of fifty receivers hangs, drips, answers 100 MB, or redirects in circles',
  async run(lab) {
    const site = await lab.freshSite();
    for (let i = 0; i < ENDPOINTS; i++) {
      await site.addRule({
        name: `endpoint ${i}`,
        conditionType: 'custom_metric',
        conditionConfig: { metricKeyPath: 'data.ping', operator: 'gt', value: 0, aggregate: 'last' },
        actionType: 'notify_webhook',
        actionConfig: { url: site.receiver.url(`/endpoint/${i}`) },
        cooldownMinutes: 0,
        agentId: `ping-${i}`,
      });
    }
    await site.rulesHeld(3 + ENDPOINTS);
    const memory = () => usageOf(site.stack.service('action-dispatcher').pid).rssBytes / MEGABYTE;
    await pings(lab, site, WARM_UP_ROUNDS);
    const warm = memory();
    const baseline = await pings(lab, site, ROUNDS);
    const before = memory();
    lab.note(`all healthy: p99 ${baseline.toFixed(0)} ms, dispatcher ${before.toFixed(0)} MB`);
    const unwell = new UnwellReceiver();
    site.receiver.answer((webhook, response) => {
      if (webhook.path === '/endpoint/0') unwell.answer(webhook.path, response);
      else response.end();
    });
    const beside = await pings(lab, site, ROUNDS);
    const after = memory();
    unwell.end();
    site.receiver.answer();
    lab.note(
      `one unhealthy, called ${unwell.called} times: p99 of the others ${beside.toFixed(0)} ms, dispatcher ${after.toFixed(0)} MB`,
    );
    // Growth with all receivers healthy is caused by the work, not by a receiver.
    const ofWork = Math.max(0, before - warm);
    lab.measure('memory growth while all were healthy', before - warm, 'MB');
    lab.measure('memory growth beside one unhealthy', after - before, 'MB');
    lab.check(
      atMost('p99 of the 49 others', Math.max(2 * baseline, FLOOR_MS * lab.slowness()), beside, 'ms'),
      atMost('memory growth of the dispatcher by the one unhealthy', 20, after - before - ofWork, 'MB'),
      equal('unexpected process exits', 0, site.unexpectedExits),
    );
  },
};

/** Unhealthy in a different way each time. */
class UnwellReceiver {
  called = 0;
  readonly #drips = new Set<NodeJS.Timeout>();

  answer(path: string, response: ServerResponse): void {
    this.called += 1;
    switch (this.called % 4) {
      case 1:
        return; // hangs
      case 2:
        this.#drips.add(setInterval(() => response.write('x'), 1_000));
        return;
      case 3:
        flood(response);
        return;
      default:
        response.writeHead(302, { location: path }).end();
    }
  }

  end(): void {
    for (const drip of this.#drips) clearInterval(drip);
  }
}

/** Sends 100 MB as fast as they are read. */
function flood(response: ServerResponse): void {
  response.writeHead(200);
  const chunk = Buffer.alloc(MEGABYTE);
  let left = 100;
  const more = () => {
    while (left-- > 0 && !response.destroyed) if (!response.write(chunk)) return;
    response.end();
  };
  response.on('drain', more);
  more();
}

/**
 * Sends an event for each endpoint, several rounds. Returns the p99 of the healthy ones, ms, from sending to receiving.
 */
async function pings(lab: Lab, site: Site, rounds: number): Promise<number> {
  const latencies: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const sentAt = Number(process.hrtime.bigint()) / 1e6;
    const events = Array.from({ length: ENDPOINTS }, (_, i) => ({
      sessionId: `ping-${i}`,
      agentId: `ping-${i}`,
      eventType: 'custom',
      payload: { type: 'ping', data: { ping: 1 } },
    }));
    const answer = await site.post(site.stack.ingestUrl, '/api/events', { events });
    if (answer.status !== 201) throw new Error(`refused: ${answer.status} ${answer.text}`);
    const arrived = () => site.receiver.of('ping').filter(({ atMs, path }) => atMs >= sentAt && path !== '/endpoint/0');
    for (let waited = 0; arrived().length < ENDPOINTS - 1 && waited < 200; waited++) await lab.sleep(25);
    const came = arrived();
    if (came.length < ENDPOINTS - 1)
      throw new Error(`only ${came.length} of ${ENDPOINTS - 1} healthy receivers were called`);
    latencies.push(...came.map(({ atMs }) => atMs - sentAt));
  }
  return quantile(latencies, 0.99);
}

export const SLOW_RECEIVER = [slowReceiver];
