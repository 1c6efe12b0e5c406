import type { Decision } from '@agentlens/contracts';
import type { Clock } from '@agentlens/platform';

export interface AskingAgain {
  readonly clock: Clock;
  /** Waits between two questions about the same. Rejects when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

const PAUSES: Pauses = { firstMs: 250, longestMs: 4_000 };

/**
 * Asks again, with growing pauses, until an answer stands. A peak of load must not refuse a call or end an open
 * answer. A question with the same call id is reserved and counted once.
 *
 * @param waitsMs how long such an answer is asked about again; 0 for one that stands
 * @param ended aborted when the decision is not needed any more: the last one is returned then
 */
export async function askUntilDecided(
  { clock, pause }: AskingAgain,
  ask: () => Promise<Decision>,
  waitsMs: (decision: Decision) => number,
  ended: AbortSignal,
  { firstMs, longestMs }: Pauses = PAUSES,
): Promise<Decision> {
  const startedAtMs = clock.now();
  for (let waitMs = firstMs; ; waitMs = Math.min(longestMs, 2 * waitMs)) {
    const decision = await ask();
    if (ended.aborted || clock.now() - startedAtMs >= waitsMs(decision)) return decision;
    await pause(waitMs, ended).catch((error: unknown) => {
      if (!ended.aborted) throw error;
    });
    if (ended.aborted) return decision;
  }
}
