import { digested } from '../../bench/progress.ts';
import type { LoadReport } from '../../harness/generate-load.ts';
import { quantile } from '../../harness/statistics.ts';
import { atLeast, atMost, equal, holds } from '../check.ts';
import type { Fault } from '../fault.ts';
import { startFlood } from '../load.ts';
import { countsOf } from '../record.ts';
import { recovered } from '../recovery.ts';

/** Until code is compiled. Earlier results do not show the maximum. */
const WARM_UP_SECONDS = 5;
/** The speed of a shared machine changes within a minute, so the peak is measured before each round of overload. */
const ROUNDS = 3;
const PEAK_SECONDS = 6;
const OVERLOAD_SECONDS = 20;
const SMALLEST_SECONDS = 8;
const PEAK_CLIENTS = 24;
const TIMES = 3;
/** High enough that the offered load does not depend on responses. */
const MAX_IN_FLIGHT = 256;
const BATCH = 100;
const DIGESTED_WITHIN_MS = 60_000;
/**
 * Every request carries the same kind of events, and markers trigger. Requests are prepared once and cover all agents
 * and their runs.
 */
const LOAD = { batchSize: BATCH, markEvery: 5, premade: 200 };
const AT_PEAK = { ...LOAD, concurrency: PEAK_CLIENTS };
const OVER_PEAK = { ...LOAD, concurrency: MAX_IN_FLIGHT };

const overload: Fault = {
  id: 'F-27',
  title: 'three times as much is offered as there is capacity',
  async run(lab) {
    const site = await lab.freshSite();
    const seconds = lab.minutes >= 30 ? OVERLOAD_SECONDS : SMALLEST_SECONDS;
    await startFlood(lab, site, { ...AT_PEAK, label: 'warmup', seconds: WARM_UP_SECONDS }).report;
    const peaks: LoadReport[] = [];
    const overs: LoadReport[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await digested(site.stack, 'accepted events', DIGESTED_WITHIN_MS);
      const peak = await startFlood(lab, site, { ...AT_PEAK, label: `peak${round}`, seconds: PEAK_SECONDS }).report;
      const eventsPerSecond = TIMES * rateOf([peak]);
      const label = overLabel(round);
      const over = await startFlood(lab, site, { ...OVER_PEAK, label, seconds, eventsPerSecond }).report;
      lab.note(
        `peak ${rateOf([peak]).toFixed(0)} events/s, of ${eventsPerSecond.toFixed(0)} offered ` +
          `${rateOf([over]).toFixed(0)}, answers ${JSON.stringify(over.statuses)}`,
      );
      peaks.push(peak);
      overs.push(over);
    }
    const afterwards = site.load(lab.seed, { eventsPerSecond: 500, seconds: 120 });
    const recoveredMs = await recovered(site, afterwards);
    afterwards.running.stop();
    await afterwards.report;
    lab.note(`recovered after ${recoveredMs.toFixed(0)} ms`);
    await digested(site.stack, 'accepted events', DIGESTED_WITHIN_MS);
    const latencies = overs.flatMap(({ markers }, round) => site.triggers.latencies(overLabel(round), markers));
    const triggerMs = quantile(latencies, 0.99);
    lab.measure('peak', rateOf(peaks), 'events/s');
    lab.measure('sent at overload', (BATCH * sumOf(overs, 'requests')) / sumOf(overs, 'seconds'), 'events/s');
    lab.measure('goodput at overload', rateOf(overs), 'events/s');
    lab.measure('load generator at the peak', cpuShareOf(peaks), '% of a CPU');
    lab.measure('load generator at overload', cpuShareOf(overs), '% of a CPU');
    lab.measure('p99 of an acceptance in the worst round', Math.max(...overs.map(({ latency }) => latency.p99)), 'ms');
    lab.measure('p99 of a trigger', triggerMs, 'ms');
    lab.check(atLeast('goodput', 0.8 * rateOf(peaks), rateOf(overs), 'events/s'));
    for (const [round, over] of overs.entries()) {
      const { events: counted } = await countsOf(site.pool, overLabel(round));
      lab.check(
        // Otherwise it was not an overload.
        atLeast('requests refused', 1, over.refusedLatency.count),
        answers(over.statuses),
        atLeast('accepted events counted', over.acceptedEvents, counted),
        // Without a response it is unknown whether the events were accepted.
        atMost(
          'events counted that were not rejected',
          over.acceptedEvents + BATCH * (over.statuses['0'] ?? 0),
          counted,
        ),
      );
      lab.within('p99 of a refusal', 100, over.refusedLatency.p99);
    }
    lab.check(
      equal('triggers seen', overs.flatMap(({ markers }) => Object.keys(markers)).length, latencies.length),
      equal('unexpected process exits', 0, site.unexpectedExits),
    );
    lab.within('p99 of a trigger', 1_000, triggerMs);
    lab.within('recovered', 10_000, recoveredMs);
  },
};

function overLabel(round: number): string {
  return `over${round}`;
}

function rateOf(reports: readonly LoadReport[]): number {
  return sumOf(reports, 'acceptedEvents') / sumOf(reports, 'seconds');
}

/** CPU cost of the load generator, on the CPUs that are measured. */
function cpuShareOf(reports: readonly LoadReport[]): number {
  return (100 * sumOf(reports, 'cpuMicros')) / 1_000_000 / sumOf(reports, 'seconds');
}

function sumOf(reports: readonly LoadReport[], field: 'acceptedEvents' | 'cpuMicros' | 'requests' | 'seconds'): number {
  return reports.reduce((sum, report) => sum + report[field], 0);
}

function answers(statuses: Readonly<Record<string, number>>) {
  const others = Object.keys(statuses).filter((status) => !['201', '429', '503'].includes(status));
  return holds('answers of the gateway', others.length === 0, JSON.stringify(statuses), '201, 429, 503');
}

export const OVERLOAD = [overload];
