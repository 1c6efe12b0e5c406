/** Whether the stages after this one run. */
export type Progress = 'next' | 'done';

export type MaybeAwaited<T> = T | Promise<T>;

/** One step of a pipeline. Reads and updates the subject that the pipeline works on. */
export interface Stage<Subject> {
  run(subject: Subject): MaybeAwaited<Progress>;
}

/** Runs stages in order until one is done. Waits only for stages that return a promise. */
export function runStages<Subject>(stages: readonly Stage<Subject>[], subject: Subject): MaybeAwaited<Progress> {
  let ran = 0;
  for (const stage of stages) {
    ran += 1;
    const progress = stage.run(subject);
    if (typeof progress !== 'string') return resumed(progress, stages.slice(ran), subject);
    if (progress === 'done') return progress;
  }
  return 'next';
}

async function resumed<Subject>(
  started: Promise<Progress>,
  rest: readonly Stage<Subject>[],
  subject: Subject,
): Promise<Progress> {
  let progress = await started;
  for (const stage of rest) {
    if (progress === 'done') break;
    const next = stage.run(subject);
    progress = typeof next === 'string' ? next : await next;
  }
  return progress;
}

/** Runs stages at the same time. Done if one of them is. */
export function together<Subject>(stages: readonly Stage<Subject>[]): Stage<Subject> {
  return {
    async run(subject): Promise<Progress> {
      const progress = await Promise.all(stages.map((stage) => stage.run(subject)));
      return progress.includes('done') ? 'done' : 'next';
    },
  };
}

/** Repeats stages until one of them is done, then continues with the stages that follow. */
export function untilDone<Subject>(stages: readonly Stage<Subject>[]): Stage<Subject> {
  return {
    async run(subject): Promise<Progress> {
      while ((await runStages(stages, subject)) === 'next');
      return 'next';
    },
  };
}
