import type { RunDetail, TreeRun } from '../api/model.ts';
import type { Step } from './story.ts';

/** Consecutive equal calls, folded into one row. */
interface Fold {
  readonly id: string;
  readonly steps: readonly [Step, ...Step[]];
}

const MIN_FOLDED_CALLS = 3;

/** Calls are equal if their decisions have equal argument digests. Without a decision, arguments are unknown until they are loaded. */
export function folded(steps: readonly Step[]): Fold[] {
  const folds: { id: string; key: string; steps: [Step, ...Step[]] }[] = [];
  for (const step of steps) {
    const last = folds.at(-1);
    const digest = step.kind === 'tool' ? step.decision?.inputsDigest : undefined;
    const key = digest === undefined ? step.id : `${step.name}\0${digest}\0${step.state}`;
    if (last?.key === key) last.steps.push(step);
    else folds.push({ id: step.id, key, steps: [step] });
  }
  return folds.flatMap(({ id, steps: same }): Fold[] =>
    same.length >= MIN_FOLDED_CALLS
      ? [{ id: `fold ${id}`, steps: same }]
      : same.map((step) => ({ id: step.id, steps: [step] })),
  );
}

/** One row of the timeline: a run, a step, or folded equal steps. */
export interface Row {
  readonly id: string;
  readonly level: number;
  readonly steps: readonly Step[];
  /** The run of this row: the root run or a sub-run. */
  readonly run: RunDetail | TreeRun | undefined;
  readonly childRun: TreeRun | undefined;
  readonly canOpen: boolean;
}

/** Visible rows: sub-runs at their start, with expanded folds and sub-runs. */
export function rowsOf(
  run: RunDetail,
  steps: readonly Step[],
  tree: readonly TreeRun[],
  children: ReadonlyMap<string, readonly Step[]>,
  opened: ReadonlySet<string>,
): Row[] {
  const rows: Row[] = [{ id: `run ${run.id}`, level: 0, steps: [], run, childRun: undefined, canOpen: false }];
  addRun(rows, run.id, 1, steps, { tree, children, opened });
  return rows;
}

interface Around {
  readonly tree: readonly TreeRun[];
  readonly children: ReadonlyMap<string, readonly Step[]>;
  readonly opened: ReadonlySet<string>;
}

function addRun(rows: Row[], runId: string, level: number, steps: readonly Step[], around: Around): void {
  const started = around.tree.filter(({ parentRunId }) => parentRunId === runId);
  const items: { at: number; add: () => void }[] = folded(steps).map((fold) => ({
    at: fold.steps[0].startMs,
    add: () => {
      const canOpen = fold.steps.length > 1;
      rows.push({ id: fold.id, level, steps: fold.steps, run: undefined, childRun: undefined, canOpen });
      if (canOpen && around.opened.has(fold.id)) {
        for (const step of fold.steps)
          rows.push({
            id: step.id,
            level: level + 1,
            steps: [step],
            run: undefined,
            childRun: undefined,
            canOpen: false,
          });
      }
    },
  }));
  for (const child of started) {
    items.push({
      at: Date.parse(child.startedAt),
      add: () => {
        const id = `run ${child.id}`;
        rows.push({ id, level, steps: [], run: child, childRun: child, canOpen: true });
        if (around.opened.has(id)) addRun(rows, child.id, level + 1, around.children.get(child.id) ?? [], around);
      },
    });
  }
  for (const item of items.sort((a, b) => a.at - b.at)) item.add();
}
