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
