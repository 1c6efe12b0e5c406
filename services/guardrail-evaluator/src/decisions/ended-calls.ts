import { COMMANDS, type EndedCall } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import type { EvaluatorDropMetrics } from '../evaluator-metrics.ts';

/**
 * Maximum number of ended calls, over all tenants, kept while the dispatcher is unavailable. The oldest are dropped.
 */
const MAX_KEPT_CALLS = 50_000;
/** Maximum number of calls per message. */
const MAX_CALLS_PER_MESSAGE = 500;
const RETRY_MS = 1_000;

interface EndedCallsDependencies {
  readonly bus: Pick<EventBus, 'request'>;
  readonly logger: Pick<Platform['logger'], 'warn' | 'error'>;
  readonly drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly progress?: LoopProgress;
  readonly retryMs?: number;
}

/**
 * Reports ended calls to the dispatcher, so that an approval cannot be used for another call. Unreported calls are kept
 * and retried, and are reported before the same tenant requests another approval. An approval is therefore not used
 * twice if the dispatcher was unavailable when its call ended. A call that the dispatcher refuses is dropped: no
 * approval can belong to it.
 */
export class EndedCalls {
  readonly #parts: EndedCallsDependencies;
  readonly #progress: LoopProgress;
  readonly #kept = new Map<string, EndedCall[]>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: EndedCallsDependencies) {
    this.#parts = parts;
    this.#progress = parts.progress ?? new LoopProgress();
  }

  /** Never rejects: a failed report is retried later. */
  async report(tenantId: string, calls: readonly EndedCall[], deadlineMs: number): Promise<void> {
    this.#keep(tenantId, calls);
    await this.#send(tenantId, calls, deadlineMs);
  }

  /** @throws Error if an ended call of this tenant could not be reported to the dispatcher */
  async caughtUp(tenantId: string, deadlineMs: number): Promise<void> {
    const kept = this.#kept.get(tenantId);
    if (kept === undefined || (await this.#send(tenantId, kept, deadlineMs))) return;
    throw new Error('approvals of calls that have ended are not marked as spent yet');
  }

  /** Retries once and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#sendAll();
    if (this.#count > 0) {
      this.#parts.logger.error(
        { calls: this.#count },
        'ended calls could not be reported before stopping; their approvals are not marked as spent',
      );
    }
  }

  async #sendAll(): Promise<void> {
    const { deadlineMs } = COMMANDS.spendApprovals;
    await Promise.all(Array.from(this.#kept, ([tenantId, kept]) => this.#send(tenantId, kept, deadlineMs)));
  }

  /**
   * Returns true if all calls were reported. A call is forgotten only after its report: reporting it twice does no
   * harm, and concurrent approval requests wait for it.
   */
  async #send(tenantId: string, calls: readonly EndedCall[], deadlineMs: number): Promise<boolean> {
    try {
      for (let from = 0; from < calls.length; from += MAX_CALLS_PER_MESSAGE) {
        const piece = calls.slice(from, from + MAX_CALLS_PER_MESSAGE);
        await this.#progress.attempt(() => this.#spend(tenantId, piece, deadlineMs));
      }
      return true;
    } catch (error) {
      this.#parts.logger.warn({ err: error, tenantId }, 'marking approvals of ended calls as spent failed, will retry');
      this.#retryLater();
      return false;
    }
  }

  /** Splits calls that are refused together until the refused ones are alone. @throws Error if no call was judged */
  async #spend(tenantId: string, calls: EndedCall[], deadlineMs: number): Promise<void> {
    const answer = await this.#parts.bus.request({ ...COMMANDS.spendApprovals, deadlineMs }, { tenantId, calls });
    const isRefused = !answer.ok && answer.problem.status < 500;
    if (!answer.ok && !isRefused) throw new Error(`approvals could not be marked as spent: ${answer.problem.error}`);
    if (isRefused && calls.length > 1) {
      const middle = Math.ceil(calls.length / 2);
      await this.#spend(tenantId, calls.slice(0, middle), deadlineMs);
      await this.#spend(tenantId, calls.slice(middle), deadlineMs);
      return;
    }
    this.#forget(tenantId, new Set(calls));
    if (!isRefused) return;
    const { details } = answer.problem;
    this.#parts.drops.dropped('ended_call', calls.length);
    this.#parts.logger.error({ tenantId, details }, 'dropped an ended call that the dispatcher refuses');
  }

  #keep(tenantId: string, calls: readonly EndedCall[]): void {
    if (calls.length === 0) return;
    this.#kept.set(tenantId, [...(this.#kept.get(tenantId) ?? []), ...calls]);
    this.#count += calls.length;
    for (const [oldest, kept] of this.#kept) {
      if (this.#count <= MAX_KEPT_CALLS) return;
      const dropped = kept.slice(0, this.#count - MAX_KEPT_CALLS);
      this.#forget(oldest, new Set(dropped));
      this.#parts.drops.dropped('ended_call', dropped.length);
      this.#parts.logger.error({ tenantId: oldest, calls: dropped.length }, 'dropped ended calls over the limit');
    }
  }

  #forget(tenantId: string, calls: ReadonlySet<EndedCall>): void {
    const kept = this.#kept.get(tenantId) ?? [];
    const left = kept.filter((call) => !calls.has(call));
    this.#count -= kept.length - left.length;
    if (left.length === 0) this.#kept.delete(tenantId);
    else this.#kept.set(tenantId, left);
  }

  #retryLater(): void {
    if (this.#isStopped || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#sendAll();
    }, this.#parts.retryMs ?? RETRY_MS).unref();
  }
}
