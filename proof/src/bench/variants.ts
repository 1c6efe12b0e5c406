import type { Figure } from './figure.ts';
import { type LoadPlan, measureLoad } from './measure-load.ts';
import type { Bench } from './scenario.ts';
import type { Stage } from './stage.ts';

export interface Variant {
  readonly name: string;
  /** Puts rules and tenants in place, and answers what of the plan is different. */
  prepare(stage: Stage): Promise<Partial<LoadPlan>>;
}

const ROUNDS = 2;
/** Load before each measurement: what it takes to change rules and tenants is not what it costs to have them. */
const SETTLING_SECONDS = 1;

/**
 * Measures variants of one thing in turn, twice, so that what else the machine does meets all of them alike, and
 * reports each one's rounds as one.
 */
export async function measureVariants(
  bench: Bench,
  scenario: string,
  base: Omit<LoadPlan, 'scenario' | 'variant'>,
  variants: readonly Variant[],
): Promise<void> {
  const stage = await bench.stage('distributed');
  const found = new Map<string, Figure[]>(variants.map(({ name }) => [name, []]));
  for (let round = 1; round <= ROUNDS; round++) {
    for (const variant of variants) {
      bench.progress(`${scenario}: ${variant.name} (round ${round} of ${ROUNDS})`);
      const plan = { ...base, ...(await variant.prepare(stage)), scenario };
      await measureLoad(stage, { ...plan, variant: 'settling', seconds: SETTLING_SECONDS });
      await stage.forgetEvents();
      found.get(variant.name)?.push(await measureLoad(stage, { ...plan, variant: variant.name }));
      await stage.forgetEvents();
    }
  }
  for (const figures of found.values()) {
    const whole = together(figures);
    if (whole !== undefined) bench.found(whole);
  }
}

/** The rounds of one variant: sums of what adds up, the later round's latencies. */
function together(rounds: readonly Figure[]): Figure | undefined {
  const last = rounds.at(-1);
  if (last === undefined) return undefined;
  const count = rounds.reduce((sum, round) => sum + round.count, 0);
  const mean = (name: string) =>
    rounds.reduce((sum, round) => sum + (round.cpuMicros[name] ?? 0) * round.count, 0) / Math.max(1, count);
  return {
    ...last,
    count,
    seconds: rounds.reduce((sum, round) => sum + round.seconds, 0),
    cpuMicros: Object.fromEntries([...Object.keys(last.cpuMicros)].map((name) => [name, mean(name)])),
    checks: rounds.flatMap(({ checks }) => checks),
    notes: { ...last.notes, rounds: rounds.length },
  };
}
