import { request } from 'undici';
import { atLeast } from '../check.ts';
import type { Fault } from '../fault.ts';
import { startFlood } from '../flood.ts';
import { recovered } from '../recovery.ts';
import type { Site } from '../site.ts';

const PEAK_SECONDS = 10;
const OVERLOAD_SECONDS = 60;
const SMALLEST_SECONDS = 15;

const overload: Fault = {
  id: 'F-27',
  title: 'three times as many clients as there is capacity',
  async run(lab) {
    const site = await lab.freshSite();
    const seconds = lab.minutes >= 30 ? OVERLOAD_SECONDS : SMALLEST_SECONDS;
    const peak = await startFlood(lab, site, { label: 'peak', concurrency: 8, seconds: PEAK_SECONDS }).report;
    const peakRate = peak.acceptedEvents / peak.seconds;
    lab.note(`peak: ${peakRate.toFixed(0)} events/s`);
    const refusals: number[] = [];
    let asking = true;
    const asker = (async () => {
      while (asking) {
        const ms = await refusal(site);
        if (ms !== undefined) refusals.push(ms);
        await lab.sleep(100);
      }
    })();
    const over = await startFlood(lab, site, { label: 'over', concurrency: 24, seconds }).report;
    asking = false;
    await asker;
    const overRate = over.acceptedEvents / over.seconds;
    lab.note(`three times the clients: ${overRate.toFixed(0)} events/s, answers ${JSON.stringify(over.statuses)}`);
    const load = site.load(lab.seed, { eventsPerSecond: 500, seconds: 120 });
    const ms = await recovered(site, load);
    load.running.stop();
    await load.report;
    lab.note(`recovered after ${ms.toFixed(0)} ms`);
    refusals.sort((a, b) => a - b);
    lab.measure('peak', peakRate, 'events/s');
    lab.measure('goodput at overload', overRate, 'events/s');
    lab.check(atLeast('goodput', 0.8 * peakRate, overRate, 'events/s'));
    lab.within('p99 of a refusal', 100, refusals[Math.floor(refusals.length * 0.99)] ?? 0);
    lab.within('recovered', 10_000, ms);
  },
};

/** How long a request took that was refused; undefined where it was not. */
async function refusal(site: Site): Promise<number | undefined> {
  const event = { sessionId: 'ask', agentId: 'ask', eventType: 'custom', payload: { type: 'ask', data: {} } };
  const since = performance.now();
  const answer = await request(`${site.stack.ingestUrl}/api/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${site.stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ events: [event] }),
  });
  await answer.body.dump();
  return answer.statusCode === 429 || answer.statusCode === 503 ? performance.now() - since : undefined;
}

export const OVERLOAD = [overload];
