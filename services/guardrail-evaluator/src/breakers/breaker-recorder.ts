import type { BreakerState } from '@agentlens/contracts';
import type { BreakerRef, BreakerStore } from '@agentlens/guardrails';
import { observeQueue } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { EvaluatorDropMetrics } from '../drop-metrics.ts';
import type { BreakersRepository } from './breakers.repository.ts';

const RETRY_MS = 1_000;
/** What an outage may pile up; what is beyond it is counted, and recorded when somebody next reads the breaker. */
const MOST_PENDING = 10_000;

export interface RecordedChange {
  readonly tenantId: string;
  readonly agentId: string;
  readonly ref: BreakerRef;
  readonly state: BreakerState;
  /** The limit that was passed. */
  readonly limit?: number;
  readonly version: number;
}

interface BreakerRecorderDependencies {
  readonly store: Pick<BreakerStore, 'recorded'>;
  readonly repository: Pick<BreakersRepository, 'record'>;
  readonly now: () => number;
  readonly drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly logger: Platform['logger'];
  /** A change is committed and waits to be announced. */
  readonly announce: () => void;
  readonly mostPending?: number;
}

/**
 * Puts changes of breakers into the record and announces them, beside the question that brought them about; whoever
 * hears of them tells people. Repeated until it is done; what a crash cuts short is taken up by whoever reads the
 * breaker next.
 */
export class BreakerRecorder {
  readonly #parts: BreakerRecorderDependencies;
  readonly #pending = new Map<string, RecordedChange>();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #stopped = false;

  constructor(parts: BreakerRecorderDependencies) {
    this.#parts = parts;
    const { mostPending: capacity = MOST_PENDING } = parts;
    observeQueue({ name: 'breaker_changes', capacity, size: () => this.#pending.size });
  }

  record(change: RecordedChange): void {
    const key = JSON.stringify([change.tenantId, change.ref.scope, change.ref.scopeId]);
    const pending = this.#pending.get(key);
    if (pending !== undefined && pending.version >= change.version) return;
    const { drops, mostPending = MOST_PENDING } = this.#parts;
    if (pending === undefined && this.#pending.size >= mostPending) {
      drops.dropped('breaker_change', 1);
      return;
    }
    this.#pending.set(key, change);
    void this.flush();
  }

  /** Records what is pending; joins one that is under way. Never rejects. */
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
    for (const [key, change] of this.#pending) {
      try {
        await this.#carryOut(change);
        if (this.#pending.get(key) === change) this.#pending.delete(key);
      } catch (error) {
        const { tenantId, ref, version } = change;
        this.#parts.logger.warn({ err: error, tenantId, ...ref, version }, 'a breaker change is not recorded yet');
        return;
      }
    }
  }

  async #carryOut(change: RecordedChange): Promise<void> {
    const { tenantId, agentId, ref, state, limit, version } = change;
    const at = new Date(this.#parts.now()).toISOString();
    await this.#parts.repository.record({ tenantId, agentId, ...ref, state, limit, version, at });
    this.#parts.announce();
    await this.#parts.store.recorded(tenantId, agentId, ref, version);
  }
}
