import { generateLoad, type RunningLoad } from '../harness/generate-load.ts';
import type { Lab } from './fault.ts';
import type { Site } from './site.ts';

/** Effectively until it is stopped. */
const ENDLESS_MS = 600_000;

export interface FloodPlan {
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
