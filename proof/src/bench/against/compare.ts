import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Checkout, checkOut } from '../../harness/checkout.ts';
import { whenInterrupted } from '../../harness/program.ts';
import { findRelease } from '../../harness/release.ts';
import { median } from '../../harness/statistics.ts';
import type { BenchOptions } from '../options.ts';
import { TEN_RULES } from '../rule-drafts.ts';
import type { Stage } from '../stage.ts';
import { Stages } from '../stages.ts';
import { type ComparedShape, describeRound, isCheapEnough } from './compared-shape.ts';
import { readContention, SCARCE } from './contention.ts';
import { type LoadCost, type LoadShape, SHAPES } from './shapes.ts';

/** Seconds of each load before the first round, because production runs compiled code. */
const WARM_UP_SECONDS = 3;
/** In the short set, no further round begins after this time. */
const SMOKE_NO_ROUND_AFTER_MS = 240_000;

export interface BenchComparison {
  readonly against: string;
  readonly shapes: readonly ComparedShape[];
  /** The median of what `readContention` returned before each round. */
  readonly contention: number;
  /** In the short set, also true if the CPU was too scarce for a verdict. */
  readonly ok: boolean;
}

/** The other build could not be measured, so there is no verdict. */
export class NotComparable extends Error {
  override readonly name = 'NotComparable';
}

/**
 * Compares this build with another one under every shape of load.
 *
 * @param against `release`, a commit, or the folder of a checkout that is built already
 * @throws NotComparable if the other build cannot be run
 */
export async function compare(
  root: string,
  against: string,
  options: BenchOptions,
  progress: (text: string) => void,
): Promise<BenchComparison> {
  const shapes = chosen(options.only);
  const other = await findBuild(root, against, progress).catch((error: unknown) => {
    throw new NotComparable(`${against} could not be built here`, { cause: error });
  });
  const [theirs, ours] = [new Stages(other.root, [], progress), new Stages(root, [], progress)];
  const close = async () => {
    await theirs.close();
    await ours.close();
  };
  const calm = whenInterrupted(close);
  try {
    const sides = {
      theirs: await theirs.shared('standalone').catch((error: unknown) => {
        throw new NotComparable(`the platform of ${against} did not start under this harness`, { cause: error });
      }),
      ours: await ours.shared('standalone'),
    };
    return { against, ...(await compareSides(sides, shapes, options, progress)) };
  } finally {
    await close();
    calm();
    await other.remove();
  }
}

async function findBuild(root: string, against: string, progress: (text: string) => void): Promise<Checkout> {
  if (against === 'release') return checkOut(root, await findRelease(root), progress);
  const isFolder = (await stat(against).catch(() => undefined))?.isDirectory() === true;
  return isFolder ? { root: resolve(against), remove: async () => undefined } : checkOut(root, against, progress);
}

type Sides = Readonly<Record<'theirs' | 'ours', Stage>>;

async function compareSides(
  sides: Sides,
  shapes: readonly LoadShape[],
  { rounds, seconds, smoke, report }: Pick<BenchOptions, 'rounds' | 'seconds' | 'smoke' | 'report'>,
  progress: (text: string) => void,
): Promise<Omit<BenchComparison, 'against'>> {
  const startedAt = performance.now();
  const hasTime = () => !smoke || performance.now() - startedAt < SMOKE_NO_ROUND_AFTER_MS;
  for (const stage of Object.values(sides)) await stage.setRules(TEN_RULES);
  for (const shape of shapes) {
    progress(`warming up for ${shape.name}`);
    for (const stage of Object.values(sides)) await measured(sides, stage, shape, WARM_UP_SECONDS);
  }
  const contention: number[] = [];
  const compared = shapes.map((shape) => ({ shape, theirs: [] as LoadCost[], ours: [] as LoadCost[] }));
  const measure = async (one: (typeof compared)[number], round: number) => {
    // Each build is first in every other round, because a load also pays for what the one before it left behind.
    const order = round % 2 === 0 ? (['theirs', 'ours'] as const) : (['ours', 'theirs'] as const);
    for (const side of order) one[side].push(await measured(sides, sides[side], one.shape, seconds));
    progress(describeRound(one));
  };
  for (let round = 0; round < rounds && (round === 0 || hasTime()); round++) {
    contention.push(readContention());
    for (const one of compared) await measure(one, round);
  }
  // One busy period of the machine can spoil half of the rounds, but hardly half of twice as many. A report gives no verdict.
  for (let round = rounds; !report && round < 2 * rounds && hasTime(); round++) {
    for (const one of compared) if (!isCheapEnough(one)) await measure(one, round);
  }
  const isScarce = smoke && median(contention) >= SCARCE;
  return { shapes: compared, contention: median(contention), ok: isScarce || compared.every(isCheapEnough) };
}

async function measured(sides: Sides, stage: Stage, shape: LoadShape, seconds: number): Promise<LoadCost> {
  return shape.measure(stage, seconds).catch((error: unknown) => {
    if (stage === sides.ours) throw error;
    throw new NotComparable(`the other build failed under ${shape.name}`, { cause: error });
  });
}

function chosen(only: readonly string[]): readonly LoadShape[] {
  const unknown = only.filter((name) => !SHAPES.some((shape) => shape.name === name));
  if (unknown.length === 0)
    return SHAPES.filter(({ name, isExtra }) => (only.length === 0 ? isExtra !== true : only.includes(name)));
  const known = SHAPES.map(({ name }) => name).join(', ');
  throw new Error(`builds are compared under ${known}, not ${unknown.join(', ')}`);
}
