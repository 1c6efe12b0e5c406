import { checkOut } from './checkout.ts';
import { type Figure, serverCpu } from './figure.ts';
import { measureLoad } from './measure-load.ts';
import type { BenchOptions } from './options.ts';
import { TEN_RULES } from './rule-drafts.ts';
import type { Stage } from './stage.ts';
import { Stages } from './stages.ts';
import { whenInterrupted } from './when-interrupted.ts';

/** Identical code differs by a few hundredths on a quiet machine and by more beside other work. */
const MOST = 1.15;

export interface Comparison {
  readonly against: string;
  /** CPU per event of this build divided by that of the other; the median of the rounds. */
  readonly ratio: number;
  readonly rounds: readonly { readonly theirs: Figure; readonly ours: Figure; readonly ratio: number }[];
  readonly ok: boolean;
}

/** Compares this build with the one of a commit. */
export async function compare(
  root: string,
  ref: string,
  options: BenchOptions,
  progress: (text: string) => void,
): Promise<Comparison> {
  const other = await checkOut(root, ref, progress);
  try {
    return await compareBuilds({ ref, root: other.root }, root, options, progress);
  } finally {
    await other.remove();
  }
}

/** Both builds run side by side and are loaded in turn, so that whatever else the machine does meets both alike. */
export async function compareBuilds(
  other: { readonly ref: string; readonly root: string },
  root: string,
  { rounds: count, seconds }: Pick<BenchOptions, 'rounds' | 'seconds'>,
  progress: (text: string) => void,
): Promise<Comparison> {
  const [theirs, ours] = [new Stages(other.root, [], progress), new Stages(root, [], progress)];
  const close = async () => {
    await theirs.close();
    await ours.close();
  };
  const calm = whenInterrupted(close);
  try {
    const stages = { theirs: await theirs.shared('distributed'), ours: await ours.shared('distributed') };
    for (const stage of Object.values(stages)) await stage.setRules(TEN_RULES);
    const rounds: Comparison['rounds'][number][] = [];
    for (let round = 1; round <= count; round++) {
      const before = await once(stages.theirs, other.ref, seconds);
      const now = await once(stages.ours, 'this build', seconds);
      const ratio = serverCpu(now) / serverCpu(before);
      progress(
        `round ${round} of ${count}, CPU µs/event: ${other.ref} ${serverCpu(before).toFixed(1)}, this build ${serverCpu(now).toFixed(1)}: ratio ${ratio.toFixed(3)}`,
      );
      rounds.push({ theirs: before, ours: now, ratio });
    }
    const ratio = median(rounds.map((round) => round.ratio));
    return { against: other.ref, ratio, rounds, ok: ratio <= MOST };
  } finally {
    await close();
    calm();
  }
}

async function once(stage: Stage, variant: string, seconds: number): Promise<Figure> {
  const plan = { scenario: 'T1', variant, batchSize: 100, concurrency: 16, seconds };
  const figure = await measureLoad(stage, plan);
  const wrong = figure.checks.find(({ expected, actual }) => expected !== actual);
  if (wrong !== undefined) {
    throw new Error(`${variant}: ${wrong.name}: expected ${wrong.expected}, found ${wrong.actual}`);
  }
  await stage.forgetEvents();
  return figure;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const pair = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return pair.reduce((sum, value) => sum + value, 0) / pair.length;
}
