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
}

/** Clients that send as fast as they are answered, whatever the answer, and of whose events nothing is remembered. */
export function startFlood(lab: Lab, site: Site, plan: FloodPlan): RunningLoad {
  const { label, concurrency, key = site.stack.key, seconds, batchSize = 100, agents = 50 } = plan;
  return generateLoad({
    url: site.stack.ingestUrl,
    keys: [key],
    batchSize,
    concurrency,
    durationMs: seconds === undefined ? ENDLESS_MS : seconds * 1_000,
    agents,
    errorShare: 0.02,
    reliable: false,
    markEvery: 0,
    seed: lab.seed,
    label,
  });
}
