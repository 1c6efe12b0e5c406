import { STREAMS } from '@agentlens/contracts';
import { digested } from '../../bench/progress.ts';
import type { LoadReport } from '../../harness/generate-load.ts';
import { usageOf } from '../../harness/process-usage.ts';
import { SERVICES } from '../../harness/stack.ts';
import { atMost, equal } from '../check.ts';
import { EventLoops } from '../event-loops.ts';
import type { Fault, Lab } from '../fault.ts';
import { startFlood } from '../load.ts';
import type { Site } from '../site.ts';
import { audited, differencesOf } from './auditor.ts';
import { underLoad } from './under-load.ts';

const MEGABYTE = 1_048_576;
const MINUTE_MS = 60_000;
const SAMPLE_MS = 2_000;
/** A process reaches its memory in the first minutes. In a short soak, half of the time is left out. */
const WARM_UP_MINUTES = 5;
const SLOPE_MB_PER_MINUTE = 1;
/** A slope over less time is caused by the garbage collector. */
const SHORTEST_SLOPE_MINUTES = 10;
const SHORT_GROWTH_MB = 60;
const MORE_FILES = 20;
/**
 * Small requests: half of the machine's capacity is then no more than the oracle can keep in memory for half an hour.
 */
const BATCH = 5;
const PEAK_SECONDS = 10;
const PEAK_CLIENTS = 16;
const MAX_EVENTS_PER_SECOND = 3_000;
const DIGESTED_WITHIN_MS = 60_000;
const RECONCILED_WITHIN_MS = 60_000;
const EVENT_LOOP_MS = 50;

interface Sample {
  readonly minutes: number;
  readonly megabytes: number;
  readonly openFiles: number;
}

const soak: Fault = {
  id: 'F-25',
  title: 'soak at half of the capacity, with a continuous comparison of accepted, stored and evaluated events',
  async run(lab) {
    const loops = await EventLoops.open();
    try {
      const site = await lab.freshSite({ nodeOptions: loops.nodeOptions, serviceEnv: loops.envOf(SERVICES) });
      await soaked(lab, site);
      const limit = EVENT_LOOP_MS + (await loops.idleP99());
      lab.measure('lateness of an idle process (p99)', limit - EVENT_LOOP_MS, 'ms');
      for (const [name, p99] of await loops.p99s()) {
        lab.within(`event loop of ${name}, p99, by the idle process`, limit, p99);
      }
    } finally {
      await loops.close();
    }
  },
};

async function soaked(lab: Lab, site: Site): Promise<void> {
  const peak = await peakOf(lab, site);
  const eventsPerSecond = Math.min(MAX_EVENTS_PER_SECOND, Math.round(peak.acceptedEvents / peak.seconds / 2));
  const samples = new Map<string, Sample[]>();
  let longestApartMs = 0;
  let worstDifference = 0;
  const { report } = await underLoad(lab, site, {
    load: { eventsPerSecond, seconds: lab.minutes * 60, batchSize: BATCH, markEvery: 20 },
    faults: async () => {
      const since = performance.now();
      const minutesGone = () => (performance.now() - since) / MINUTE_MS;
      /** Times of newest messages that are not yet settled by all consumers. */
      let unsettled: { atMs: number; sequence: number }[] = [];
      let reportedMinute = 0;
      while (minutesGone() < lab.minutes) {
        await lab.sleep(SAMPLE_MS);
        for (const { name, pid } of site.stack.services) {
          const { rssBytes, openFiles } = usageOf(pid);
          const sample = { minutes: minutesGone(), megabytes: rssBytes / MEGABYTE, openFiles };
          samples.set(name, [...(samples.get(name) ?? []), sample]);
        }
        const { notStored, notEvaluated } = await differencesOf(site);
        worstDifference = Math.max(worstDifference, notStored + notEvaluated);
        const { newest, settled } = await progressOf(site);
        const atMs = performance.now();
        unsettled = [...unsettled, { atMs, sequence: newest }].filter(({ sequence }) => sequence > settled);
        longestApartMs = Math.max(longestApartMs, atMs - (unsettled[0]?.atMs ?? atMs));
        if (minutesGone() >= reportedMinute + 1) {
          reportedMinute = Math.floor(minutesGone());
          const apart = `${newest - settled} messages are not settled by all`;
          lab.note(`minute ${reportedMinute} of ${lab.minutes}: ${apart}, memory ${memoryNow(samples)}`);
        }
      }
    },
  });
  for (const [name, own] of samples) judge(lab, name, own);
  lab.within('accepted and stored never differ for longer than', RECONCILED_WITHIN_MS, longestApartMs);
  await audited(site, peak.acceptedEvents + report.acceptedEvents);
  lab.note('the auditor has judged everything');
  const { notStored, notEvaluated, messagesLost } = await differencesOf(site);
  lab.check(
    equal('largest difference that the auditor reported', 0, Math.max(worstDifference, notStored + notEvaluated)),
    equal('messages the auditor missed', 0, messagesLost),
    equal('unexpected process exits', 0, site.unexpectedExits),
  );
}

/** Peak throughput of the platform, in requests like those of the soak. */
async function peakOf(lab: Lab, site: Site): Promise<LoadReport> {
  const peak = await startFlood(lab, site, {
    label: 'peak',
    concurrency: PEAK_CLIENTS,
    seconds: PEAK_SECONDS,
    batchSize: BATCH,
    agents: 20,
  }).report;
  lab.measure('peak', peak.acceptedEvents / peak.seconds, 'events/s');
  await digested(site.stack, 'the peak', DIGESTED_WITHIN_MS);
  return peak;
}

/** Returns the newest event message, and the one up to which every consumer has settled all. */
async function progressOf(site: Site): Promise<{ readonly newest: number; readonly settled: number }> {
  const { manager } = site.streams;
  const { state } = await manager.streams.info(STREAMS.AGENT_EVENTS.name);
  let settled = state.last_seq;
  for await (const { ack_floor } of manager.consumers.list(STREAMS.AGENT_EVENTS.name)) {
    settled = Math.min(settled, ack_floor.stream_seq);
  }
  return { newest: state.last_seq, settled };
}

function memoryNow(samples: ReadonlyMap<string, readonly Sample[]>): string {
  return [...samples].map(([name, own]) => `${name} ${own.at(-1)?.megabytes.toFixed(0)} MB`).join(', ');
}

function judge(lab: Lab, name: string, samples: readonly Sample[]): void {
  const warmUp = Math.min(WARM_UP_MINUTES, lab.minutes / 2);
  const warm = samples.filter(({ minutes }) => minutes >= warmUp);
  const [first, last] = [warm[0], warm.at(-1)];
  if (first === undefined || last === undefined) return;
  const slope = slopeOf(warm);
  lab.measure(`memory of ${name}`, last.megabytes, 'MB');
  lab.measure(`memory slope of ${name}`, slope, 'MB/min');
  if (lab.minutes >= SHORTEST_SLOPE_MINUTES) {
    lab.check(atMost(`memory slope of ${name}`, SLOPE_MB_PER_MINUTE, slope, 'MB/min'));
  } else {
    lab.check(atMost(`memory growth of ${name}`, SHORT_GROWTH_MB, last.megabytes - first.megabytes, 'MB'));
  }
  lab.check(atMost(`more open files of ${name}`, MORE_FILES, last.openFiles - first.openFiles));
}

/** Least-squares slope, MB per minute. */
function slopeOf(samples: readonly Sample[]): number {
  const meanX = samples.reduce((sum, { minutes }) => sum + minutes, 0) / samples.length;
  const meanY = samples.reduce((sum, { megabytes }) => sum + megabytes, 0) / samples.length;
  const top = samples.reduce((sum, { minutes, megabytes }) => sum + (minutes - meanX) * (megabytes - meanY), 0);
  const bottom = samples.reduce((sum, { minutes }) => sum + (minutes - meanX) ** 2, 0);
  return bottom === 0 ? 0 : top / bottom;
}

export const SOAK = [soak];
