import { serverCpu } from './figure.ts';
import { type MeasuredLoadPlan, measureLoad } from './measure-load.ts';
import type { Stage } from './stage.ts';

const SLICE_SECONDS = 2;
const MOST_SLICES = 7;
/** Two slices alike may be chance, and code that is still being compiled gets cheaper by little from one to the next. */
const ALIKE_SLICES = 3;
const ALIKE_WITHIN = 0.05;

/**
 * Sends the load of a scenario until an event costs what it cost before, for what is compiled on the way is not what runs
 * in production a minute later; on a machine that never settles, for a quarter of a minute.
 */
export async function warmUp(
  stage: Stage,
  load: Pick<MeasuredLoadPlan, 'scenario' | 'batchSize' | 'concurrency'>,
  progress: (text: string) => void,
): Promise<void> {
  await untilSteady(MOST_SLICES, async (before) => {
    const cost = serverCpu(await measureLoad(stage, { ...load, variant: 'warm-up', seconds: SLICE_SECONDS }));
    const costs = [...before, cost].map((each) => each.toFixed(0));
    progress(`warming up for ${load.scenario}: CPU µs/event ${costs.join(', ')}`);
    return cost;
  });
  await stage.forgetEvents();
}

/** Takes slices, `most` of them, until one costs what those before it cost. `slice` is told their costs and answers its own. */
export async function untilSteady(most: number, slice: (before: readonly number[]) => Promise<number>): Promise<void> {
  const costs: number[] = [];
  while (costs.length < most && !isSteady(costs)) costs.push(await slice(costs));
}

/** Whether the last slices cost alike. */
function isSteady(costs: readonly number[]): boolean {
  const last = costs.slice(-ALIKE_SLICES);
  return last.length === ALIKE_SLICES && Math.max(...last) <= Math.min(...last) * (1 + ALIKE_WITHIN);
}
