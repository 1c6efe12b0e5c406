import { generateLoad, type RunningLoad } from '../harness/generate-load.ts';
import type { Lab } from './fault.ts';
import type { Site } from './site.ts';

/** Until it is stopped. */
const ENDLESS_MS = 600_000;

export interface FloodPlan {
  readonly label: string;
  readonly concurrency: number;
  /** Of whom; the platform's own tenant where it is not said. */
  readonly key?: string;
  /** Without it, until it is stopped. */
  readonly seconds?: number;
  readonly batchSize?: number;
  readonly agents?: number;
  /** What is offered, however little of it is taken; then `concurrency` is only the cap on what is in flight. */
  readonly eventsPerSecond?: number;
  /** Every n-th request carries a marker. */
  readonly markEvery?: number;
  /** So many requests are made beforehand: whoever makes them as they go takes the CPU from what is measured. */
  readonly premade?: number;
}

/** Clients that send as fast as they are answered, or as they were told, and of whose events nothing is remembered. */
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
