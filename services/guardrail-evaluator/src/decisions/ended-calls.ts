import { COMMANDS, type EndedCall } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';

/** Ended calls that are kept for the dispatcher while it is away, of all tenants; the oldest make room. */
const MOST_KEPT = 50_000;
/** Of one message to it. */
const MOST_AT_ONCE = 500;
const RETRY_MS = 1_000;

interface EndedCallsDependencies {
  readonly bus: Pick<EventBus, 'request'>;
  readonly logger: Pick<Platform['logger'], 'warn' | 'error'>;
  readonly retryMs?: number;
}

/**
 * Tells the dispatcher which calls have ended, so that what a human approved for them is good for no other. What it cannot be
 * told is kept and told again, and before anything else of that tenant is asked for: an approval is not used twice because
 * the dispatcher was away when its call ended.
 */
export class EndedCalls {
  readonly #parts: EndedCallsDependencies;
  readonly #kept = new Map<string, EndedCall[]>();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: EndedCallsDependencies) {
    this.#parts = parts;
  }

  /** Never rejects: what could not be told is told later. */
  async report(tenantId: string, calls: readonly EndedCall[], deadlineMs: number): Promise<void> {
    this.#keep(tenantId, calls);
    await this.#tell(tenantId, calls, deadlineMs);
  }

  /** @throws Error while the dispatcher does not know of every ended call of this tenant that is known here */
  async caughtUp(tenantId: string, deadlineMs: number): Promise<void> {
    const kept = this.#kept.get(tenantId);
    if (kept === undefined || (await this.#tell(tenantId, kept, deadlineMs))) return;
    throw new Error('approvals of calls that have ended are not marked as spent yet');
  }

  /** Tries once more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#tellAll();
    if (this.#count > 0) {
      this.#parts.logger.error({ calls: this.#count }, 'approvals of calls that have ended are not marked as spent');
    }
  }

  async #tellAll(): Promise<void> {
    for (const [tenantId, kept] of [...this.#kept]) {
      await this.#tell(tenantId, kept, COMMANDS.spendApprovals.deadlineMs);
    }
  }

  /**
   * True: all of these were told. They are forgotten only then: telling twice does no harm, and whoever asks meanwhile
   * waits.
   */
  async #tell(tenantId: string, calls: readonly EndedCall[], deadlineMs: number): Promise<boolean> {
    try {
      for (let from = 0; from < calls.length; from += MOST_AT_ONCE) {
        const piece = calls.slice(from, from + MOST_AT_ONCE);
        await this.#spend(tenantId, piece, deadlineMs);
        this.#forget(tenantId, new Set(piece));
      }
      return true;
    } catch (error) {
      this.#parts.logger.warn(
        { err: error, tenantId },
        'approvals of ended calls are not marked as spent, trying again',
      );
      this.#retryLater();
      return false;
    }
  }

  async #spend(tenantId: string, calls: EndedCall[], deadlineMs: number): Promise<void> {
    const answer = await this.#parts.bus.request({ ...COMMANDS.spendApprovals, deadlineMs }, { tenantId, calls });
    if (!answer.ok) throw new Error(`approvals could not be marked as spent: ${answer.problem.error}`);
  }

  #keep(tenantId: string, calls: readonly EndedCall[]): void {
    if (calls.length === 0) return;
    this.#kept.set(tenantId, [...(this.#kept.get(tenantId) ?? []), ...calls]);
    this.#count += calls.length;
    for (const [oldest, kept] of this.#kept) {
      if (this.#count <= MOST_KEPT) return;
      const dropped = kept.slice(0, this.#count - MOST_KEPT);
      this.#forget(oldest, new Set(dropped));
      this.#parts.logger.error({ tenantId: oldest, calls: dropped.length }, 'too many ended calls to keep were let go');
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
      void this.#tellAll();
    }, this.#parts.retryMs ?? RETRY_MS).unref();
  }
}
