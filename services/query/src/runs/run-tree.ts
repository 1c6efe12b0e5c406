import type { Run, RunTotalsAnswer } from '@agentlens/operations';

export interface TreeNode extends Run {
  readonly depth: number;
  readonly childCount: number;
  /** Totals of this run and all its descendants. */
  readonly rolledUp: RunTotalsAnswer;
}

const MICRO = 1e6;

/**
 * Orders a run and its descendants: each parent before its children, the earliest first. `runs` contains the root; runs
 * that are not connected to it are ignored. Every run counts once, even if parents form a cycle.
 */
export function runTree(rootId: string, runs: readonly Run[]): TreeNode[] {
  const root = runs.find(({ id }) => id === rootId);
  if (root === undefined) return [];
  const childrenOf = Map.groupBy(
    runs.filter(({ id }) => id !== rootId),
    ({ parentRunId }) => parentRunId,
  );
  return nodesOf(root, 0, childrenOf, new Set());
}

function nodesOf(
  run: Run,
  depth: number,
  childrenOf: ReadonlyMap<string | undefined, readonly Run[]>,
  seen: Set<string>,
): TreeNode[] {
  seen.add(run.id);
  const children = (childrenOf.get(run.id) ?? [])
    .filter(({ id }) => !seen.has(id))
    .toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const branches = children.map((child) => nodesOf(child, depth + 1, childrenOf, seen));
  const below = branches.flatMap(([top]) => (top === undefined ? [] : [top.rolledUp]));
  const rolledUp = [run.totals, ...below].reduce(sumOf);
  return [{ ...run, depth, childCount: children.length, rolledUp }, ...branches.flat()];
}

function sumOf(a: RunTotalsAnswer, b: RunTotalsAnswer): RunTotalsAnswer {
  const names = Object.keys(a) as (keyof RunTotalsAnswer)[];
  const sums = Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as unknown as RunTotalsAnswer;
  // Costs are rounded to millionths, because adding binary fractions drifts.
  return { ...sums, costUsd: Math.round((a.costUsd + b.costUsd) * MICRO) / MICRO };
}
