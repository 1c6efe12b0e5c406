import type { Run, RunTotalsAnswer } from '@agentlens/operations';

export interface TreeNode extends Run {
  readonly depth: number;
  readonly childCount: number;
  /** Of this run and every run below it. */
  readonly rolledUp: RunTotalsAnswer;
}

const MICRO = 1e6;

/**
 * A run and those below it, each parent before its children, the earliest first. `runs` holds the root; of the others,
 * those that lead to it. Every run counts once, also where parents are named in a circle.
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
  // Money is kept in millionths; adding binary fractions drifts.
  return { ...sums, costUsd: Math.round((a.costUsd + b.costUsd) * MICRO) / MICRO };
}
