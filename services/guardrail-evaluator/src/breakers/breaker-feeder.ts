import type { AgentEvent, BreakerReason, EventBatch } from '@agentlens/contracts';
import {
  type Breaker,
  type BreakerRef,
  type BreakerStore,
  type CallUsage,
  checkBreaker,
  type EventMark,
  recordUsage,
  type StoredBreaker,
  tripBreaker,
} from '@agentlens/guardrails';
import { settleAll } from '@agentlens/messaging';
import type { TenantSettingsCache } from '@agentlens/platform';
import { type BreakerTransactions, type Revision, withAsked } from './breaker-transactions.ts';
import { agentLimits, hasLimits, isLimited, runLimits, type TenantLimits } from './limits.ts';
import { TreeBreakers } from './tree-breakers.ts';
import { reportsOf, trippedBy, usageOfEvent } from './usage-of-event.ts';

/**
 * Interval at which a tenant is checked again. The events of a tenant that starts asking for decisions are counted
 * after at most this time.
 */
const LOOK_AGAIN_MS = 1_000;
/** Maximum number of runs whose trees are written in one transaction. */
const RUNS_AT_ONCE = 200;

interface Counted {
  readonly event: AgentEvent;
  /** Clients choose event ids, so two agents may use the same one. */
  readonly name: string;
  readonly usage: CallUsage;
  /** Why the breaker of the run opened in the agent's process; null if it did not. */
  readonly tripped: BreakerReason | null;
}

interface BreakerFeederDependencies {
  readonly transactions: BreakerTransactions;
  readonly store: Pick<BreakerStore, 'watched'>;
  readonly limits: Pick<TenantSettingsCache<TenantLimits>, 'of'>;
  readonly now: () => number;
}

/**
 * Counts the usage that events report. Each event counts once, regardless of how often and in which batch it arrives.
 * Nothing is counted for tenants that neither ask for decisions nor set limits. If limits are set, a breaker opens as
 * soon as the events exceed them; otherwise it opens with the next question of its run. A breaker that opened inside
 * the agent's process opens here too. Events also count for their run tree, if trees have limits.
 */
export class BreakerFeeder {
  readonly #parts: BreakerFeederDependencies;
  readonly #trees: TreeBreakers;
  readonly #asking = new Map<string, { readonly asks: boolean; readonly lookedAtMs: number }>();

  constructor(parts: BreakerFeederDependencies) {
    this.#parts = parts;
    this.#trees = new TreeBreakers(parts.transactions);
  }

  /** @throws StateUnavailable if the batch has to be counted again */
  async count(batch: EventBatch): Promise<void> {
    const { tenantId } = batch;
    const counts = await this.#counts(tenantId);
    const counted = batch.events.flatMap((event): Counted[] => {
      const [usage, tripped] = [counts ? usageOfEvent(event) : null, trippedBy(event)];
      if (usage === null && tripped === null) return [];
      return [{ event, name: JSON.stringify([event.agentId, event.id]), usage: usage ?? {}, tripped }];
    });
    if (counted.length === 0) return;
    const byAgent = Map.groupBy(counted, ({ event }) => event.agentId);
    await settleAll([
      ...[...byAgent].map(([agentId, its]) => this.#agent(tenantId, agentId, its)),
      this.#inTrees(tenantId, counted),
    ]);
  }

  async #counts(tenantId: string): Promise<boolean> {
    if (hasLimits(this.#parts.limits.of(tenantId))) return true;
    const nowMs = this.#parts.now();
    const known = this.#asking.get(tenantId);
    if (known !== undefined && (known.asks || nowMs - known.lookedAtMs < LOOK_AGAIN_MS)) return known.asks;
    const asks = await this.#parts.store.watched(tenantId);
    this.#asking.set(tenantId, { asks, lookedAtMs: nowMs });
    return asks;
  }

  /** One after another, so that batches of many runs do not conflict with themselves. */
  async #inTrees(tenantId: string, list: readonly Counted[]): Promise<void> {
    if (this.#parts.limits.of(tenantId)?.tree === undefined) return;
    const byRun = [...Map.groupBy(list, ({ event }) => event.runId).values()];
    for (let from = 0; from < byRun.length; from += RUNS_AT_ONCE) {
      await this.#countInTrees(tenantId, byRun.slice(from, from + RUNS_AT_ONCE).flat());
    }
  }

  async #countInTrees(tenantId: string, list: readonly Counted[]): Promise<void> {
    const limits = this.#parts.limits.of(tenantId)?.tree ?? null;
    const lines = list.map(({ event }) => lineOf(event));
    const marks = list.map(({ name, event }) => ({ id: name, atMs: Date.parse(event.occurredAt) }));
    const question = { tenantId, agentId: list[0]?.event.agentId ?? '', lines, events: marks };
    await this.#trees.revise<void>(question, (trees, before) => {
      const { fresh, events } = uncounted(list, marks, before);
      const nowMs = this.#parts.now();
      const byRoot = Map.groupBy(fresh, ({ event }) => trees.rootOf(event.runId));
      const changes = [...byRoot].map(([root, its]) => {
        const from = trees.of(root);
        const breaker = opened(from, used(from, its, nowMs), limits, nowMs);
        return [root, { breaker, limits, agentId: its.at(-1)?.event.agentId }] as const;
      });
      return { changes: new Map(changes), events, answer: undefined };
    });
  }

  #agent(tenantId: string, agentId: string, list: readonly Counted[]): Promise<void> {
    const limits = this.#parts.limits.of(tenantId);
    const ofAgent = agentLimits(limits, agentId);
    const runIds = [...new Set(list.map(({ event }) => event.runId))];
    const watched = [
      { ref: { scope: 'agent', scopeId: agentId } as BreakerRef, list, opens: ofAgent },
      ...runIds.map((runId) => ({
        ref: { scope: 'run', scopeId: runId } as BreakerRef,
        list: list.filter(({ event }) => event.runId === runId),
        opens: isLimited(limits, agentId, runId) ? runLimits(limits, agentId, runId) : null,
      })),
    ];
    const marks = list.map(({ event }) => ({ id: event.id, atMs: Date.parse(event.occurredAt) }));
    const question = { tenantId, agentId, refs: watched.map(({ ref }) => ref), events: marks };
    return this.#parts.transactions.revise<void>(question, (breakers, before) => {
      const { fresh, events } = uncounted(list, marks, before);
      // Every batch writes a breaker of the agent, so that a concurrent count of the same events conflicts and is
      // retried.
      if (fresh.length === 0) return { revisions: [], answer: undefined };
      const isFresh = new Set(fresh);
      const nowMs = this.#parts.now();
      const revisions = watched.flatMap(({ ref, list: its, opens }, at): Revision[] => {
        const from = breakers[at];
        if (from === undefined) return [];
        const own = its.filter((one) => isFresh.has(one));
        const reported = used(from, own, nowMs);
        const reason = ref.scope === 'run' ? own.find(({ tripped }) => tripped !== null)?.tripped : null;
        if (reason == null) return [{ ref, from, to: opened(from, reported, opens, nowMs), limits: opens }];
        const limits = runLimits(this.#parts.limits.of(tenantId), agentId, ref.scopeId);
        return [{ ref, from, to: tripBreaker(reported, reason, nowMs), limits }];
      });
      return { revisions, events, answer: undefined };
    });
  }
}

/** The run of an event and its parent. Further ancestors are known from other events and from questions. */
function lineOf({ runId, parentRunId }: AgentEvent): readonly string[] {
  return parentRunId === undefined ? [runId] : [runId, parentRunId];
}

/** @param counted indices of those that were counted before */
function uncounted(list: readonly Counted[], marks: readonly EventMark[], counted: readonly number[]) {
  const repeated = new Set(counted);
  const isNew = (_: unknown, at: number) => !repeated.has(at);
  return { fresh: list.filter(isNew), events: marks.filter(isNew) };
}

/** An event that appears twice in the list counts once. */
function used(from: StoredBreaker, list: readonly Counted[], nowMs: number): Breaker {
  const names = new Set<string>();
  return list.reduce((breaker, { event, name, usage }) => {
    if (names.has(name)) return breaker;
    names.add(name);
    const { state } = breaker;
    const probed = state.kind === 'half_open' && reportsOf(event, state.probe);
    return recordUsage(breaker, probed ? { ...usage, by: state.probe } : usage, nowMs);
  }, from.breaker);
}

function opened(
  from: StoredBreaker,
  breaker: Breaker,
  limits: Parameters<typeof checkBreaker>[1] | null,
  nowMs: number,
) {
  if (limits === null || breaker.state.kind !== 'closed') return breaker;
  const { state } = checkBreaker(withAsked(breaker, from.asked), limits, nowMs).breaker;
  return { ...breaker, state };
}
