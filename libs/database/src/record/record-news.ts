import { type AuditRecord, type BudgetReached, MINUTE_MS } from '@agentlens/contracts';
import type { Kysely } from 'kysely';
import type { Tables } from '../schema/tables.ts';
import { changesSince, type FullPot, fullPots, reachedSince } from './record-reads.ts';

/** A row is committed after the time it carries. */
const OVERLAP_MS = 2 * MINUTE_MS;

/** What other services wrote into the record: changes by people, and budgets of which most or all is spent. */
export interface News {
  /** Oldest first. */
  readonly changes: readonly AuditRecord[];
  /** Each pot, period, share and limit once. */
  readonly reached: readonly BudgetReached[];
}

/** Whose news are wanted. */
export interface NewsOf {
  readonly changes: readonly string[];
  readonly budgets: readonly string[];
}

/**
 * What is new in the record since the last look. The record is read again and again, because nobody publishes it; this
 * remembers what it told, so that nobody hears of it twice from the same process. One look at a time.
 */
export class RecordNews {
  readonly #now: () => number;
  readonly #missedMs: number;
  #told: ReadonlySet<string> = new Set();
  #lookedAtMs: number | undefined;

  /** @param missedMs how far back the first look reads changes: what may have been missed before. */
  constructor(now: () => number, missedMs = OVERLAP_MS) {
    this.#now = now;
    this.#missedMs = missedMs;
  }

  /**
   * Hands on what is new, if anything. If `take` throws, the next look hands it on again.
   * @throws what Postgres or `take` says
   */
  async look(db: Kysely<Tables>, of: NewsOf, take: (news: News, at: string) => Promise<void> | void): Promise<void> {
    const nowMs = this.#now();
    const from = this.#lookedAtMs === undefined ? nowMs - this.#missedMs : this.#lookedAtMs - OVERLAP_MS;
    const changes = await changesSince(db, of.changes, new Date(from).toISOString());
    const pots = await fullPots(db, of.budgets, nowMs);
    const isNew = (key: string) => !this.#told.has(key);
    const fresh = {
      changes: changes.filter((change) => isNew(keyOfChange(change))),
      reached: await reachedSince(
        db,
        pots.filter((pot) => isNew(keyOfPot(pot))),
        nowMs,
      ),
    };
    if (fresh.changes.length + fresh.reached.length > 0) await take(fresh, new Date(nowMs).toISOString());
    // What this look saw is all that the next one can see again.
    this.#told = new Set([...changes.map(keyOfChange), ...pots.map(keyOfPot)]);
    this.#lookedAtMs = nowMs;
  }
}

function keyOfChange({ tenantId, id }: AuditRecord): string {
  return JSON.stringify([tenantId, id]);
}

function keyOfPot({ budget, scopeId, periodStart, share }: FullPot): string {
  return JSON.stringify([budget.tenantId, budget.id, scopeId, periodStart, share, budget.limitUsd]);
}
