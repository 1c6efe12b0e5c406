import { breakersDue } from '@agentlens/contracts';
import { type BreakerQuestion, overLimit, type StoredBreaker } from '@agentlens/guardrails';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import type { Platform, TenantSettingsCache } from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';
import { withAsked } from './breaker-transactions.ts';
import { recordKey } from './breakers.repository.ts';
import { limitsOf, type TenantLimits } from './limits.ts';

/** Minimum interval between two announcements of one breaker. Gateways remember one for longer. */
const ANNOUNCE_EVERY_MS = 10_000;
/** Maximum number of remembered announcements. Evicting one at worst announces a breaker again. */
const MAX_REMEMBERED = 20_000;

interface DueBreakersDependencies {
  readonly bus: Pick<EventBus, 'publish'>;
  readonly limits: Pick<TenantSettingsCache<TenantLimits>, 'of'>;
  readonly now: () => number;
  readonly logger: Platform['logger'];
}

type Seen = Pick<StoredBreaker, 'breaker' | 'asked'>;

/**
 * Announces breakers that are open or open with the next question of their run, so that gateways ask the evaluator
 * about the run. The evaluator opens the breaker when it is asked.
 */
export class DueBreakers {
  readonly #parts: DueBreakersDependencies;
  readonly #announcedAtMs = new BoundedMap<number>(MAX_REMEMBERED);
  readonly #announcing = new BackgroundWork();

  constructor(parts: DueBreakersDependencies) {
    this.#parts = parts;
  }

  /** @param breakers in the order of the question's `refs`, as they are now */
  report({ tenantId, agentId, refs }: BreakerQuestion, breakers: readonly Seen[]): void {
    const { now } = this.#parts;
    const limits = this.#parts.limits.of(tenantId);
    const nowMs = now();
    const due = refs.filter((ref, at) => {
      const seen = breakers[at];
      if (seen === undefined) return false;
      if (!isDue(seen, limitsOf(limits, ref, agentId))) return false;
      const announcedAtMs = this.#announcedAtMs.get(nameOf(tenantId, ref));
      return announcedAtMs === undefined || Math.abs(nowMs - announcedAtMs) >= ANNOUNCE_EVERY_MS;
    });
    if (due.length === 0) return;
    for (const ref of due) this.#announcedAtMs.set(nameOf(tenantId, ref), nowMs);
    this.#announcing.add(this.#announce(tenantId, due, nowMs));
  }

  /** Waits for announcements in progress. */
  async drain(): Promise<void> {
    await this.#announcing.ended();
  }

  async #announce(tenantId: string, breakers: BreakerQuestion['refs'], atMs: number): Promise<void> {
    try {
      await this.#parts.bus.publish(breakersDue, {
        tenantId,
        breakers: [...breakers],
        at: new Date(atMs).toISOString(),
      });
    } catch (error) {
      // The next transaction on the breaker announces it again.
      for (const ref of breakers) this.#announcedAtMs.delete(nameOf(tenantId, ref));
      this.#parts.logger.warn({ err: error, tenantId }, 'announcing due breakers failed, will retry');
    }
  }
}

function isDue({ breaker, asked }: Seen, limits: Parameters<typeof overLimit>[1] | null): boolean {
  if (breaker.state.kind !== 'closed') return true;
  return limits !== null && overLimit(withAsked(breaker, asked).usage, limits) !== null;
}

function nameOf(tenantId: string, ref: BreakerQuestion['refs'][number]): string {
  return `${tenantId}/${recordKey(ref)}`;
}
