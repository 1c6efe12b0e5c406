import { until } from '../../bench/poll.ts';
import { backlogOf } from '../../bench/readiness.ts';
import type { LoadReport } from '../../harness/load-protocol.ts';
import { quantile } from '../../harness/quantile.ts';
import { atLeast, atMost, equal, holds } from '../check.ts';
import type { Fault } from '../fault.ts';
import { startFlood } from '../flood.ts';
import { countsOf } from '../record.ts';
import { recovered } from '../recovery.ts';

/** Until code is compiled; what comes before is not the most it can. */
const WARM_UP_SECONDS = 5;
const PEAK_SECONDS = 10;
const PEAK_CLIENTS = 24;
const OVERLOAD_SECONDS = 60;
const SMALLEST_SECONDS = 15;
const TIMES = 3;
/** Enough that what is offered does not wait for what was answered. */
const MOST_IN_FLIGHT = 256;
const BATCH = 100;
const MARK_EVERY = 5;
/** Once round all agents and their runs. */
const PREMADE = 200;
const DIGESTED_WITHIN_MS = 60_000;

const overload: Fault = {
  id: 'F-27',
  title: 'three times as much is offered as there is capacity',
  async run(lab) {
    const site = await lab.freshSite();
    const seconds = lab.minutes >= 30 ? OVERLOAD_SECONDS : SMALLEST_SECONDS;
    // Of what costs the same: markers trigger.
    const load = { batchSize: BATCH, markEvery: MARK_EVERY, premade: PREMADE };
    const atPeak = { ...load, concurrency: PEAK_CLIENTS };
    await startFlood(lab, site, { ...atPeak, label: 'warmup', seconds: WARM_UP_SECONDS }).report;
    const before = await startFlood(lab, site, { ...atPeak, label: 'before', seconds: PEAK_SECONDS }).report;
    lab.note(`peak: ${rateOf(before).toFixed(0)} events/s`);
    const offered = TIMES * rateOf(before);
    const overPeak = { ...load, label: 'over', concurrency: MOST_IN_FLIGHT, seconds, eventsPerSecond: offered };
    const over = await startFlood(lab, site, overPeak).report;
    lab.note(
      `${offered.toFixed(0)} offered: ${rateOf(over).toFixed(0)} events/s, answers ${JSON.stringify(over.statuses)}`,
    );
    const afterwards = site.load(lab.seed, { eventsPerSecond: 500, seconds: 120 });
    const ms = await recovered(site, afterwards);
    afterwards.running.stop();
    await afterwards.report;
    lab.note(`recovered after ${ms.toFixed(0)} ms`);
    const digested = async () => ((await backlogOf(site.stack)) === 0 ? true : undefined);
    await until('what was accepted to be digested', digested, DIGESTED_WITHIN_MS);
    const after = await startFlood(lab, site, { ...atPeak, label: 'after', seconds: PEAK_SECONDS }).report;
    lab.note(`peak: ${rateOf(after).toFixed(0)} events/s`);
    // What a shared machine can do changes within such a minute; the mean of both is what it could in between.
    const peak = (rateOf(before) + rateOf(after)) / 2;
    const { events: counted } = await countsOf(site.pool, 'over');
    // An answer that never came leaves it open whether its events were accepted.
    const unanswered = over.statuses['0'] ?? 0;
    const triggers = site.triggers.latencies('over', over.markers);
    const triggerMs = quantile(triggers, 0.99);
    lab.measure('peak before', rateOf(before), 'events/s');
    lab.measure('peak after', rateOf(after), 'events/s');
    lab.measure('sent at overload', (over.requests * BATCH) / over.seconds, 'events/s');
    lab.measure('goodput at overload', rateOf(over), 'events/s');
    lab.measure('load generator at the peak before', cpuShareOf(before), '% of a CPU');
    lab.measure('load generator at overload', cpuShareOf(over), '% of a CPU');
    lab.measure('p99 of an acceptance', over.latency.p99, 'ms');
    lab.measure('p99 of a trigger', triggerMs, 'ms');
    lab.check(
      atLeast('goodput', 0.8 * peak, rateOf(over), 'events/s'),
      // Or it was no overload.
      atLeast('requests refused', 1, over.refusedLatency.count),
      answers(over.statuses),
      atLeast('accepted events counted', over.acceptedEvents, counted),
      atMost('events counted that were not refused', over.acceptedEvents + unanswered * BATCH, counted),
      equal('triggers seen', Object.keys(over.markers).length, triggers.length),
      equal('processes ended by themselves', 0, site.unexpectedExits),
    );
    lab.within('p99 of a trigger', 1_000, triggerMs);
    lab.within('p99 of a refusal', 100, over.refusedLatency.p99);
    lab.within('recovered', 10_000, ms);
  },
};

function rateOf({ acceptedEvents, seconds }: LoadReport): number {
  return acceptedEvents / seconds;
}

/** What offering costs, on the CPUs that are measured. */
function cpuShareOf({ cpuMicros, seconds }: LoadReport): number {
  return (100 * cpuMicros) / 1_000_000 / seconds;
}

function answers(statuses: Readonly<Record<string, number>>) {
  const others = Object.keys(statuses).filter((status) => !['201', '429', '503'].includes(status));
  return holds('answers of the gateway', others.length === 0, JSON.stringify(statuses), '201, 429, 503');
}

export const OVERLOAD = [overload];
