import type {
  AdvanceAnswer,
  AdvanceRequest,
  CooldownClaim,
  CooldownHolder,
  CooldownStore,
  Rearming,
  Series,
  Totals,
  WindowMarker,
  WindowStore,
} from '@agentlens/guardrails';
import { cooling, NO_TOTALS } from '@agentlens/guardrails/ports';
import { LIFETIMES } from '../lifetimes.ts';
import { epochOf, type Layout, layoutOf, type PlannedSeries, planSeen, planSeries } from '../windows/plan.ts';
import { answerAgain, questionOf, seriesName, type WindowQuestion } from '../windows/question.ts';
import type { ExpiringMap } from './evicting-maps.ts';
import type { Form, MemorySnapshots } from './memory-snapshots.ts';
import { type Cell, count, emptyCell, RING_FORM, Ring, totalsOf } from './ring.ts';

type CooldownRef = Pick<CooldownClaim, 'tenantId' | 'agentId' | 'ruleId' | 'dryRun'>;

/** Cooldowns of one process. */
export class MemoryCooldownStore implements CooldownStore {
  readonly #holders: ExpiringMap<CooldownHolder>;

  constructor(snapshots: MemorySnapshots) {
    this.#holders = snapshots.map('cooldowns');
  }

  async claim(claim: CooldownClaim): Promise<boolean> {
    if (claim.cooldownMs <= 0) return true;
    const { triggerId, atMs, cooldownMs } = claim;
    const holder = this.holder(claim);
    if (holder?.triggerId === triggerId) return true;
    if (holder !== null && cooling(holder, atMs, cooldownMs)) return false;
    if (holder === null || holder.atMs < atMs) {
      this.#holders.set(cooldownKey(claim), { ...holder, triggerId, atMs }, cooldownMs + LIFETIMES.cooldownSlack);
    }
    return true;
  }

  async rearm({ tenantId, agentId, ruleIds, atMs }: Rearming): Promise<void> {
    for (const ruleId of ruleIds) {
      const key = cooldownKey({ tenantId, agentId, ruleId, dryRun: false });
      this.#holders.change(key, (holder) => ({
        ...holder,
        rearmedAtMs: Math.max(atMs, holder.rearmedAtMs ?? atMs),
      }));
    }
  }

  /** The trigger that holds the cooldown, or null. */
  holder(key: CooldownRef): CooldownHolder | null {
    return this.#holders.get(cooldownKey(key)) ?? null;
  }
}

function cooldownKey({ tenantId, agentId, ruleId, dryRun }: CooldownRef): string {
  return JSON.stringify([tenantId, agentId, ruleId, dryRun]);
}

/** A counted message. Its answer is stored as JSON, which takes a quarter less memory than a clone. */
interface Counted {
  readonly question: WindowQuestion;
  readonly answer: string;
}

const COUNTED_FORM: Form<Counted> = {
  put: ({ question, answer }) => ({ question, answer: JSON.parse(answer) }),
  take: (put) => {
    const { question, answer } = put as { question: WindowQuestion; answer: AdvanceAnswer };
    return { question, answer: JSON.stringify(answer) };
  },
};

/** Windows of one process. Synchronous inside, so every `advance` is atomic. */
export class MemoryWindowStore implements WindowStore {
  /** Windows are lost only together with the process. */
  readonly marker: WindowMarker = {
    adopt: async () => undefined,
    look: async () => ({ kind: 'since', atMs: 0 }),
    holds: async () => false,
    recounted: async () => false,
  };
  readonly #cooldowns: MemoryCooldownStore;
  readonly #inbox: ExpiringMap<Counted>;
  readonly #seen: ExpiringMap<Set<string>>;
  readonly #rings: ExpiringMap<Ring>;
  readonly #plain: ExpiringMap<Cell>;

  constructor(snapshots: MemorySnapshots, cooldowns: MemoryCooldownStore) {
    this.#cooldowns = cooldowns;
    this.#inbox = snapshots.map('inbox', COUNTED_FORM);
    this.#seen = snapshots.map('seen');
    this.#rings = snapshots.map('rings', RING_FORM);
    this.#plain = snapshots.map('totals');
  }

  async advance(request: AdvanceRequest): Promise<AdvanceAnswer> {
    return this.#advance(request);
  }

  async advanceAll(requests: readonly AdvanceRequest[]): Promise<readonly AdvanceAnswer[]> {
    return requests.map((request) => this.#advance(request));
  }

  async forget(tenantId: string, agentId: string, messageIds: readonly string[]): Promise<void> {
    for (const messageId of messageIds) this.#inbox.delete(keyOf(tenantId, agentId, messageId));
  }

  #advance(request: AdvanceRequest): AdvanceAnswer {
    const { tenantId, agentId } = request;
    const question = questionOf(request);
    const inboxKey = keyOf(tenantId, agentId, request.messageId);
    const kept = this.#inbox.get(inboxKey);
    if (kept) {
      this.#inbox.set(inboxKey, kept, LIFETIMES.inboxInProcess);
      return answerAgain(question, kept.question, JSON.parse(kept.answer) as AdvanceAnswer);
    }

    const duplicates = this.#duplicates(request);
    const repeated = new Set(duplicates);
    const answer: AdvanceAnswer = {
      before: planSeries(request).map((planned, index) => {
        const key = keyOf(tenantId, agentId, question.series[index] ?? '');
        return planned.layout.bucketMs === null
          ? this.#advancePlain(key, planned, repeated)
          : this.#advanceRing(key, planned, repeated);
      }),
      duplicates,
      cooling: request.cooldowns.map(({ ruleId, dryRun }) =>
        this.#cooldowns.holder({ tenantId, agentId, ruleId, dryRun }),
      ),
    };
    this.#inbox.set(inboxKey, { question, answer: JSON.stringify(answer) }, LIFETIMES.inboxInProcess);
    return answer;
  }

  async read(tenantId: string, agentId: string, nowMs: number, series: readonly Series[]): Promise<readonly Totals[]> {
    return series.map((one) => this.#read(keyOf(tenantId, agentId, seriesName(one)), layoutOf(one), nowMs));
  }

  #read(key: string, layout: Layout, nowMs: number): Totals {
    if (layout.bucketMs === null) {
      const cell = this.#plain.get(key);
      return cell ? totalsOf(cell, layout.shape) : NO_TOTALS;
    }
    const ring = this.#rings.get(key);
    return ring ? totalsOf(ring.totalsAt(epochOf(layout, nowMs), false), layout.shape) : NO_TOTALS;
  }

  #duplicates(request: AdvanceRequest): number[] {
    const duplicates = new Set<number>();
    for (const { event, epoch, fingerprint } of planSeen(request)) {
      const key = keyOf(request.tenantId, request.agentId, String(epoch));
      const seen = this.#seen.get(key) ?? new Set();
      if (seen.has(fingerprint)) duplicates.add(event);
      seen.add(fingerprint);
      this.#seen.set(key, seen, LIFETIMES.seenEvents);
    }
    return [...duplicates];
  }

  #advancePlain(key: string, { layout, contributions }: PlannedSeries, repeated: ReadonlySet<number>): Totals {
    const cell = this.#plain.get(key) ?? emptyCell();
    const before = totalsOf(cell, layout.shape, contributions.length);
    for (const one of contributions) if (!repeated.has(one.event)) count(cell, one);
    if (cell.count > 0) this.#plain.set(key, cell, layout.ttlMs);
    return before;
  }

  #advanceRing(key: string, planned: PlannedSeries, repeated: ReadonlySet<number>): Totals {
    const { layout, nowEpoch, contributions } = planned;
    const ring = this.#rings.get(key) ?? new Ring(nowEpoch);
    ring.moveTo(nowEpoch);
    const held = ring.totalsAt(nowEpoch, layout.shape === 'sum');
    const before = totalsOf(held, layout.shape, contributions.length);
    for (const one of contributions) if (!repeated.has(one.event)) ring.add(one);
    this.#rings.set(key, ring, layout.ttlMs);
    return before;
  }
}

function keyOf(tenantId: string, agentId: string, name: string): string {
  return JSON.stringify([tenantId, agentId, name]);
}
