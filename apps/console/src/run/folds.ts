import type { Step } from './story.ts';

/** Equal calls one after the other, as one row. */
interface Fold {
  readonly id: string;
  readonly steps: readonly [Step, ...Step[]];
}

const LEAST_FOLDED = 3;

/** Calls are equal where they were decided of with equal arguments; of others nothing is known before they are read. */
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
    same.length >= LEAST_FOLDED
      ? [{ id: `fold ${id}`, steps: same }]
      : same.map((step) => ({ id: step.id, steps: [step] })),
  );
}
