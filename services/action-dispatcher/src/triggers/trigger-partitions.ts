import { ensurePartitions, type Tables } from '@agentlens/database';
import type { Kysely } from 'kysely';

const TRY_AGAIN_MS = 60_000;

/**
 * Creates monthly partitions of the history on demand. If that fails, the default partition takes the rows until the
 * next try.
 */
export class TriggerPartitions {
  readonly #nextTry = new Map<string, number>();

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly onError: (error: unknown) => void,
  ) {}

  async ensure(instant: string): Promise<void> {
    const month = instant.slice(0, 7);
    if ((this.#nextTry.get(month) ?? 0) > this.now()) return;
    // Set before the work, so that triggers of a new month do not queue behind one lock.
    this.#nextTry.set(month, Number.POSITIVE_INFINITY);
    const at = Date.parse(instant);
    try {
      await ensurePartitions(this.db, 'guardrail_triggers', at, at);
    } catch (error) {
      this.#nextTry.set(month, this.now() + TRY_AGAIN_MS);
      this.onError(error);
    }
  }
}
