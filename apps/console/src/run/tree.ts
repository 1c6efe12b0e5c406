import type { TreeRun } from '../api/model.ts';
import { counted } from '../figures/figures.ts';

type Covered = Pick<TreeRun, 'id' | 'status'>;

/** Maximum number of selected runs whose sub-runs are counted. */
export const MAX_COUNTED_RUNS = 20;

interface Tree {
  readonly runs: readonly Covered[];
  readonly truncated: boolean;
}

/**
 * How many runs an order for the roots of these trees covers, in words. Each run counts once, even if it is in several
 * trees.
 */
export function coveredWords(trees: readonly Tree[]): string {
  const runs = new Map(trees.flatMap((tree) => tree.runs).map((run) => [run.id, run]));
  const running = [...runs.values()].filter(({ status }) => status === 'running').length;
  const many = trees.some(({ truncated }) => truncated) ? 'at least ' : '';
  return `${many}${counted(runs.size, 'run')}, ${running} running`;
}
