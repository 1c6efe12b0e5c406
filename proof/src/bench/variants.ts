import type { SERVICES } from '../harness/stack.ts';
import { quantile } from '../harness/statistics.ts';
import { type MeasuredLoadPlan, measureLoad } from './measure-load.ts';
import { type Bench, type Figure, perSecond, serverCpu } from './scenario.ts';
import type { Stage } from './stage.ts';

export interface Variant {
  readonly name: string;
  /** The variant to compare this one with. */
  readonly beside?: string;
  /** Sets up rules and tenants. Returns the differences of the plan. */
  prepare(stage: Stage): Promise<Partial<MeasuredLoadPlan>>;
}

const ROUNDS = 3;
const EVALUATOR: (typeof SERVICES)[number] = 'guardrail-evaluator';
/** Load before each measurement, because changing rules and tenants has a cost that is not measured. */
const SETTLING_SECONDS = 1;

/**
 * Measures variants in turn for several rounds, so that other load on the machine affects all of them equally. Reports
 * the rounds of each variant as one figure.
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
    const whole = merged(figures);
    if (whole !== undefined)
      bench.found({ ...whole, notes: { ...whole.notes, ...comparison(figures, beside, found.get(beside) ?? []) } });
  }
}

/** Throughput and CPU relative to another variant: the median of the rounds, for each on its own. */
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

/** Merges the rounds of one variant: sums of counts, latencies of the last round. */
function merged(rounds: readonly Figure[]): Figure | undefined {
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
