import { serverCpu } from './figure.ts';
import { type MeasuredLoadPlan, measureLoad } from './measure-load.ts';
import type { Stage } from './stage.ts';

const SLICE_SECONDS = 2;
const MAX_SLICES = 7;
/** Two equal slices may be chance, and code that is still being compiled gets cheaper only gradually. */
const ALIKE_SLICES = 3;
const ALIKE_WITHIN = 0.05;

/**
 * Sends the load of a scenario until the cost per event is stable, because production runs compiled code. On a machine
 * that never settles, for a quarter of a minute.
 */
export async function warmUp(
  stage: Stage,
  load: Pick<MeasuredLoadPlan, 'scenario' | 'batchSize' | 'concurrency'>,
  progress: (text: string) => void,
): Promise<void> {
  await untilSteady(MAX_SLICES, async (before) => {
    const cost = serverCpu(await measureLoad(stage, { ...load, variant: 'warm-up', seconds: SLICE_SECONDS }));
    const costs = [...before, cost].map((each) => each.toFixed(0));
    progress(`warming up for ${load.scenario}: CPU µs/event ${costs.join(', ')}`);
    return cost;
  });
  await stage.forgetEvents();
}

/**
 * Runs at most `most` slices, until one costs the same as the previous ones. `slice` receives their costs and returns
 * its own.
 */
export async function untilSteady(most: number, slice: (before: readonly number[]) => Promise<number>): Promise<void> {
  const costs: number[] = [];
  while (costs.length < most && !isSteady(costs)) costs.push(await slice(costs));
}

/** Whether the last slices cost the same. */
function isSteady(costs: readonly number[]): boolean {
  const last = costs.slice(-ALIKE_SLICES);
  return last.length === ALIKE_SLICES && Math.max(...last) <= Math.min(...last) * (1 + ALIKE_WITHIN);
}
