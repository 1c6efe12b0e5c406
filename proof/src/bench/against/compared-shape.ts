import { median } from '../../harness/statistics.ts';
import type { LoadCost, LoadShape } from './shapes.ts';

/** Allowed ratio of CPU per event or decision. */
const MAX_RATIO = 1.05;

/** The costs of two builds under one load, in the order of the rounds. */
export interface ComparedShape {
  readonly shape: Pick<LoadShape, 'name' | 'unit'>;
  readonly theirs: readonly LoadCost[];
  readonly ours: readonly LoadCost[];
}

export function isCheapEnough(compared: ComparedShape): boolean {
  return cpuRatio(compared) <= MAX_RATIO;
}

/**
 * CPU per unit of this build divided by that of the other: the ratio of the medians, which a round on a busy machine
 * hardly moves. Without Postgres, which also cleans up after earlier loads.
 */
export function cpuRatio(compared: ComparedShape): number {
  return findRatio(compared, ({ platformMicros }) => platformMicros);
}

function findRatio({ theirs, ours }: ComparedShape, read: (cost: LoadCost) => number): number {
  return median(ours.map(read)) / median(theirs.map(read));
}

export function describeRound(compared: ComparedShape): string {
  const { shape, theirs, ours } = compared;
  const [their, our] = [theirs, ours].map((costs) => costs.at(-1)?.platformMicros.toFixed(1));
  return `${shape.name}: CPU µs/${shape.unit} theirs ${their}, ours ${our}; so far ${cpuRatio(compared).toFixed(3)}`;
}

/** The comparison as a table of ratios, as `docs/performance.md` has it. */
export function describeComparison(against: string, compared: readonly ComparedShape[]): string {
  return [
    `This build : ${against} (medians; CPU may be at most ${MAX_RATIO})`,
    '| Load | CPU | CPU with Postgres | per second | p50 | p99 | peak RSS |',
    '|---|---|---|---|---|---|---|',
    ...compared.map((one) => {
      const columns = [
        cpuRatio(one),
        findRatio(one, ({ platformMicros, serverMicros }) => platformMicros + serverMicros),
        findRatio(one, ({ perSecond }) => perSecond),
        findRatio(one, ({ p50 }) => p50),
        findRatio(one, ({ p99 }) => p99),
        findRatio(one, ({ rssBytes }) => rssBytes),
      ];
      return `| ${one.shape.name} | ${columns.map((ratio) => ratio.toFixed(2)).join(' | ')} |`;
    }),
  ].join('\n');
}
