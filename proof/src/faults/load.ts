import { generateLoad, type LoadReport, type RunningLoad } from '../harness/generate-load.ts';
import type { Lab } from './fault.ts';
import type { Site } from './site.ts';

export interface LoadPlan {
  readonly eventsPerSecond: number;
  readonly seconds: number;
  readonly batchSize?: number;
  readonly agents?: number;
  readonly errorShare?: number;
  /** Every n-th request carries a marker. */
  readonly markEvery?: number;
  readonly concurrency?: number;
}

/** Load that records every accepted event. */
export interface Load {
  readonly label: string;
  readonly plan: LoadPlan;
  readonly report: Promise<LoadReport>;
  readonly running: RunningLoad;
}

let loads = 0;

export function startLoad(url: string, key: string, seed: number, plan: LoadPlan): Load {
  loads += 1;
  const label = `f${loads}`;
  const running = generateLoad({
    url,
    keys: [key],
    batchSize: plan.batchSize ?? 50,
    concurrency: plan.concurrency ?? 16,
    eventsPerSecond: plan.eventsPerSecond,
    durationMs: plan.seconds * 1_000,
    agents: plan.agents ?? 20,
    errorShare: plan.errorShare ?? 0.02,
    reliable: true,
    markEvery: plan.markEvery ?? 5,
    seed,
    label,
  });
  // Awaited when the load is settled. Until then a failure of the generator must not be an unhandled rejection.
  running.report.catch(() => undefined);
  return { label, plan, report: running.report, running };
}

/** Effectively until it is stopped. */
const ENDLESS_MS = 600_000;

interface FloodPlan {
  readonly label: string;
  readonly concurrency: number;
  /** Key of the sender. Default: the platform's own tenant. */
  readonly key?: string;
  /** Default: until it is stopped. */
  readonly seconds?: number;
  readonly batchSize?: number;
  readonly agents?: number;
  /** Offered load, even if less is accepted. `concurrency` then only limits the requests in flight. */
  readonly eventsPerSecond?: number;
  /** Every n-th request carries a marker. */
  readonly markEvery?: number;
  /** Number of prepared requests. Creating requests during the load would take CPU from what is measured. */
  readonly premade?: number;
}

/** Starts clients that send at a given rate, or as fast as they get responses, without recording their events. */
export function startFlood(lab: Lab, site: Site, plan: FloodPlan): RunningLoad {
  const { label, concurrency, key = site.stack.key, seconds, batchSize = 100, agents = 50, markEvery = 0 } = plan;
  return generateLoad({
    url: site.stack.ingestUrl,
    keys: [key],
    batchSize,
    concurrency,
    ...(plan.eventsPerSecond === undefined ? {} : { eventsPerSecond: plan.eventsPerSecond }),
    durationMs: seconds === undefined ? ENDLESS_MS : seconds * 1_000,
    agents,
    errorShare: 0.02,
    reliable: false,
    markEvery,
    ...(plan.premade === undefined ? {} : { premade: plan.premade }),
    seed: lab.seed,
    label,
  });
}
