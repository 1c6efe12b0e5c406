import { generateLoad, type RunningLoad } from '../harness/generate-load.ts';
import type { LoadReport } from '../harness/load-protocol.ts';

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
