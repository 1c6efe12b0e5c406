/** Called when the pipeline has ended. The result is undefined if no stage ended it early, or if a stage threw. */
export type Release<R> = (result: R | undefined) => void;

type StageOutcome<R> = R | Release<R> | undefined;

/**
 * One step of a pipeline. `run` returns undefined to continue, a release function to continue and be called back at the
 * end, or a result that ends the pipeline. It returns a promise only if it has to wait.
 */
export interface PipelineStage<W, R extends object = never> {
  run(work: W): StageOutcome<R> | Promise<StageOutcome<R>>;
}

/**
 * Runs stages in order until one returns a result. Then calls the collected release functions, last one first, even if
 * a stage threw. Does not yield between synchronous stages.
 */
export async function runStages<W, R extends object = never>(
  stages: readonly PipelineStage<W, R>[],
  work: W,
): Promise<R | undefined> {
  let releases: Release<R>[] | undefined;
  let result: R | undefined;
  try {
    for (const stage of stages) {
      const returned = stage.run(work);
      const outcome = isPromise(returned) ? await returned : returned;
      if (outcome === undefined) continue;
      if (!isRelease(outcome)) {
        result = outcome;
        break;
      }
      releases ??= [];
      releases.push(outcome);
    }
    return result;
  } finally {
    if (releases !== undefined) releaseAll(releases, result);
  }
}

function isPromise<T>(returned: T | Promise<T>): returned is Promise<T> {
  return typeof returned === 'object' && returned !== null && 'then' in returned;
}

function isRelease<R extends object>(outcome: R | Release<R>): outcome is Release<R> {
  return typeof outcome === 'function';
}

function releaseAll<R>(releases: Release<R>[], result: R | undefined): void {
  try {
    releases.pop()?.(result);
  } finally {
    if (releases.length > 0) releaseAll(releases, result);
  }
}
