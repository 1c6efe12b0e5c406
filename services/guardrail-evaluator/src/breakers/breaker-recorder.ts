import type { BreakerState } from '@agentlens/contracts';
import { isDataError } from '@agentlens/database';
import type { BreakerRef, BreakerStore } from '@agentlens/guardrails';
import { observeQueue } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import type { EvaluatorDropMetrics } from '../evaluator-metrics.ts';
import type { BreakersRepository } from './breakers.repository.ts';

const RETRY_MS = 1_000;
/**
 * Maximum number of changes kept during an outage. A dropped change is counted, and recorded when the breaker is next
 * read.
 */
const MAX_PENDING_CHANGES = 10_000;

export interface RecordedChange {
  readonly tenantId: string;
  readonly agentId: string;
  readonly ref: BreakerRef;
  readonly state: BreakerState;
  /** The limit that was exceeded. */
  readonly limit?: number;
  readonly version: number;
}

interface BreakerRecorderDependencies {
  readonly store: Pick<BreakerStore, 'recorded'>;
  readonly repository: Pick<BreakersRepository, 'record'>;
  readonly now: () => number;
  readonly drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly logger: Platform['logger'];
  /** Called when a change is committed and waiting to be announced. */
  readonly announce: () => void;
  readonly maxPending?: number;
  readonly progress?: LoopProgress;
}

/**
 * Writes breaker changes to the record and announces them, outside of the decision that caused them. Subscribers notify
 * people. Retries until it succeeds; a change that fails waits behind the others, and one that the database rejects is
 * dropped. If the process crashes first, the next reader of the breaker records the change.
 */
export class BreakerRecorder {
  readonly #parts: BreakerRecorderDependencies;
  readonly #pending = new Map<string, RecordedChange>();
  readonly #ownProgress = new LoopProgress();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #stopped = false;

  constructor(parts: BreakerRecorderDependencies) {
    this.#parts = parts;
    const { maxPending: capacity = MAX_PENDING_CHANGES } = parts;
    observeQueue({ name: 'breaker_changes', capacity, size: () => this.#pending.size });
  }

  record(change: RecordedChange): void {
    const key = JSON.stringify([change.tenantId, change.ref.scope, change.ref.scopeId]);
    const pending = this.#pending.get(key);
    if (pending !== undefined && pending.version >= change.version) return;
    const { drops, maxPending = MAX_PENDING_CHANGES } = this.#parts;
    if (pending === undefined && this.#pending.size >= maxPending) {
      drops.dropped('breaker_change', 1);
      return;
    }
    this.#pending.set(key, change);
    void this.flush();
  }

  /** Records pending changes; joins a flush in progress. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
      if (this.#pending.size > 0 && !this.#stopped) this.#timer = setTimeout(() => void this.flush(), RETRY_MS).unref();
    });
    return this.#working;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#working;
    await this.flush();
    clearTimeout(this.#timer);
    this.#parts.drops.dropped('breaker_change', this.#pending.size);
    this.#pending.clear();
  }

  async #work(): Promise<void> {
    const { logger, drops, progress = this.#ownProgress } = this.#parts;
    for (const [key, change] of this.#pending) {
      try {
        await progress.attempt(() => this.#carryOut(change));
        this.#settle(key, change);
      } catch (err) {
        const { tenantId, ref, version } = change;
        const isLast = isDataError(err);
        if (this.#settle(key, change) && !isLast) this.#pending.set(key, change);
        if (isLast) {
          drops.dropped('breaker_change', 1);
          progress.succeeded();
        }
        const outcome = isLast ? 'cannot be stored, dropped it' : 'failed, will retry';
        logger.warn({ err, tenantId, ...ref, version }, `recording a breaker change ${outcome}`);
        if (!isLast) return;
      }
    }
  }

  /** Returns false if a newer change of the same breaker is pending. */
  #settle(key: string, change: RecordedChange): boolean {
    return this.#pending.get(key) === change && this.#pending.delete(key);
  }

  async #carryOut(change: RecordedChange): Promise<void> {
    const { tenantId, agentId, ref, state, limit, version } = change;
    const at = new Date(this.#parts.now()).toISOString();
    await this.#parts.repository.record({ tenantId, agentId, ...ref, state, limit, version, at });
    this.#parts.announce();
    await this.#parts.store.recorded(tenantId, agentId, ref, version);
  }
}
