import { whenInterrupted } from '../harness/program.ts';
import { median } from '../harness/statistics.ts';
import { checkOut } from './checkout.ts';
import { measureLoad, warmUp } from './measure-load.ts';
import type { BenchOptions } from './options.ts';
import { TEN_RULES } from './rule-drafts.ts';
import { type Figure, serverCpu } from './scenario.ts';
import { THROUGHPUT } from './scenarios/throughput.ts';
import type { Stage } from './stage.ts';
import { Stages } from './stages.ts';

/** Allowed ratio. Identical code differs by a few hundredths on a quiet machine, and by more on a busy one. */
const MAX_RATIO = 1.15;
const SMOKE_ROUNDS = 3;
/** If a comparison takes longer to get ready, it says more about the machine than about the code. */
const SMOKE_READY_WITHIN_MS = 150_000;
const SMOKE_NO_ROUND_AFTER_MS = 210_000;

export interface BenchComparison {
  readonly against: string;
  /** CPU per event of this build divided by that of the other: the median of the rounds. */
  readonly ratio: number;
  readonly rounds: readonly BenchRound[];
  readonly ok: boolean;
}

export interface BenchRound {
  readonly theirs: Figure;
  readonly ours: Figure;
  readonly ratio: number;
}

/** The other build could not be measured, so there is no verdict. */
export class NotComparable extends Error {
  override readonly name = 'NotComparable';
}

/**
 * Compares this build with the build of a commit.
 * @throws NotComparable if the other build cannot be run
 */
export async function compare(
  root: string,
  ref: string,
  options: BenchOptions,
  progress: (text: string) => void,
): Promise<BenchComparison> {
  const startedAt = performance.now();
  const scenario = loadOf(options.only);
  const other = await checkOut(root, ref, progress).catch((error: unknown) => {
    throw new NotComparable(`${ref} could not be built here`, { cause: error });
  });
  try {
    if (options.smoke && performance.now() - startedAt > SMOKE_READY_WITHIN_MS) {
      throw new NotComparable(`building ${ref} took longer than the whole comparison may`);
    }
    return await compareBuilds({ ref, root: other.root }, root, { ...options, scenario }, progress);
  } finally {
    await other.remove();
  }
}

/** Runs both builds side by side and loads them in turn, so that other load on the machine affects both equally. */
async function compareBuilds(
  other: { readonly ref: string; readonly root: string },
  root: string,
  {
    scenario,
    rounds: asked,
    seconds,
    smoke,
  }: Pick<Load, 'scenario'> & Pick<BenchOptions, 'rounds' | 'seconds' | 'smoke'>,
  progress: (text: string) => void,
): Promise<BenchComparison> {
  const startedAt = performance.now();
  const count = smoke ? SMOKE_ROUNDS : asked;
  const [theirs, ours] = [new Stages(other.root, [], progress), new Stages(root, [], progress)];
  const close = async () => {
    await theirs.close();
    await ours.close();
  };
  const calm = whenInterrupted(close);
  try {
    const stages = {
      theirs: await theirs.shared('distributed').catch((error: unknown) => {
        throw new NotComparable(`the platform of ${other.ref} did not start under this harness`, { cause: error });
      }),
      ours: await ours.shared('distributed'),
    };
    for (const stage of Object.values(stages)) {
      await stage.setRules(TEN_RULES);
      if (!smoke) await warmUp(stage, { scenario, ...THROUGHPUT[scenario] }, progress);
    }
    const rounds: BenchRound[] = [];
    const more = async () => {
      for (let round = 1; round <= count; round++) {
        if (smoke && performance.now() - startedAt > SMOKE_NO_ROUND_AFTER_MS) return;
        rounds.push(await oneRound(stages, other.ref, { scenario, seconds }, progress));
      }
    };
    await more();
    // One busy period of the machine can spoil half of the rounds, but hardly half of twice as many.
    if (smoke && judged(rounds) > MAX_RATIO) await more();
    if (rounds.length === 0) throw new NotComparable('starting both platforms took all of the available time');
    const ratio = judged(rounds);
    return { against: other.ref, ratio, rounds, ok: ratio <= MAX_RATIO };
  } finally {
    await close();
    calm();
  }
}

function judged(rounds: readonly BenchRound[]): number {
  return median(rounds.map(({ ratio }) => ratio));
}

async function oneRound(
  stages: { readonly theirs: Stage; readonly ours: Stage },
  ref: string,
  load: Load,
  progress: (text: string) => void,
): Promise<BenchRound> {
  const theirs = await once(stages.theirs, ref, load).catch((error: unknown) => {
    throw new NotComparable(`${ref} could not be measured`, { cause: error });
  });
  const ours = await once(stages.ours, 'this build', load);
  const ratio = serverCpu(ours) / serverCpu(theirs);
  const both = `${ref} ${serverCpu(theirs).toFixed(1)}, this build ${serverCpu(ours).toFixed(1)}`;
  progress(`CPU µs/event: ${both}: ratio ${ratio.toFixed(3)}`);
  return { theirs, ours, ratio };
}

interface Load {
  readonly scenario: keyof typeof THROUGHPUT;
  readonly seconds: number;
}

/** @throws if a name is not a load */
function loadOf(only: readonly string[]): Load['scenario'] {
  const [name = 'T1', ...others] = only;
  if (others.length === 0 && (name === 'T1' || name === 'T2' || name === 'T3')) return name;
  throw new Error(`builds are compared under one of ${Object.keys(THROUGHPUT).join(', ')}, not ${only.join(', ')}`);
}

async function once(stage: Stage, variant: string, { scenario, seconds }: Load): Promise<Figure> {
  const plan = { scenario, variant, ...THROUGHPUT[scenario], seconds };
  const figure = await measureLoad(stage, plan);
  const wrong = figure.checks.find(({ expected, actual }) => expected !== actual);
  if (wrong !== undefined) {
    throw new Error(`${variant}: ${wrong.name}: expected ${wrong.expected}, found ${wrong.actual}`);
  }
  await stage.forgetEvents();
  return figure;
}
