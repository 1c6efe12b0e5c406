import { quantile } from '../harness/quantile.ts';
import type { SERVICES } from '../harness/stack.ts';
import { type Figure, perSecond, serverCpu } from './figure.ts';
import { type MeasuredLoadPlan, measureLoad } from './measure-load.ts';
import type { Bench } from './scenario.ts';
import type { Stage } from './stage.ts';

export interface Variant {
  readonly name: string;
  /** The variant whose cost this one's is told in. */
  readonly beside?: string;
  /** Puts rules and tenants in place, and answers what of the plan is different. */
  prepare(stage: Stage): Promise<Partial<MeasuredLoadPlan>>;
}

const ROUNDS = 3;
const EVALUATOR: (typeof SERVICES)[number] = 'guardrail-evaluator';
/** Load before each measurement: what it takes to change rules and tenants is not what it costs to have them. */
const SETTLING_SECONDS = 1;

/**
 * Measures variants of one thing in turn, several times, so that what else the machine does meets all of them alike, and
 * reports each one's rounds as one.
 */
export async function measureVariants(
  bench: Bench,
  scenario: string,
  base: Omit<MeasuredLoadPlan, 'scenario' | 'variant'>,
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
  for (const { name, beside = '' } of variants) {
    const figures = found.get(name) ?? [];
    const whole = together(figures);
    if (whole !== undefined)
      bench.found({ ...whole, notes: { ...whole.notes, ...comparison(figures, beside, found.get(beside) ?? []) } });
  }
}

/** How many times the throughput and the CPU of another variant one has: the middle of what the rounds say, each by itself. */
export function comparison(
  figures: readonly Figure[],
  name: string,
  others: readonly Figure[],
): Readonly<Record<string, string>> {
  const times = (of: (figure: Figure) => number) => {
    const ratios = figures.flatMap((figure, round) => {
      const other = others[round];
      return other === undefined || of(other) === 0 ? [] : [of(figure) / of(other)];
    });
    return quantile(ratios, 0.5).toFixed(2);
  };
  if (figures.length === 0 || others.length === 0) return {};
  return {
    [`times the throughput of ${name}`]: times(perSecond),
    'its CPU': times(serverCpu),
    'its evaluator': times(({ cpuMicros }) => cpuMicros[EVALUATOR] ?? 0),
  };
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
