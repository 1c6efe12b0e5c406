import { ProblemError } from './problem-error.ts';

const BETWEEN_TRIES_MS = 1_000;
const MAX_TRIES = 30;

/**
 * Asks for evidence again while the log has not taken up all that is recorded, so that it is whole. Gives what there is
 * after half a minute: the log may be behind, and a run that goes on always has newer facts.
 *
 * @param signal ends the waiting, too
 * @throws ProblemError of the last question
 */
export async function collectEvidence<T extends { readonly pending: number }>(
  ask: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const isLast = tries === MAX_TRIES;
    try {
      const evidence = await ask();
      if (evidence.pending === 0 || isLast) return evidence;
    } catch (error) {
      if (isLast || !(error instanceof ProblemError && error.code === 'not_sealed')) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_TRIES_MS));
    signal?.throwIfAborted();
  }
}
