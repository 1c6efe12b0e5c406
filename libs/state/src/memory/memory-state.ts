import { LIFETIMES } from '../lifetimes.ts';
import { MemoryQuota } from '../quota.ts';
import {
  type CountedTreeLimits,
  type EvaluatedMessage,
  type EvaluationTally,
  type Instance,
  minuteOf,
  type Presence,
  type ReachedTreeLimit,
  type RunContext,
  type RunContexts,
  type RunTrees,
  type StateStores,
  type TreeMember,
  withoutActor,
} from '../state-stores.ts';
import { ExpiringMap } from './evicting-maps.ts';
import { MemoryBreakerStore } from './memory-breaker-store.ts';
import { MemoryBudgetStore } from './memory-budget-store.ts';
import { MemoryCallHistory, MemoryLabelStore } from './memory-call-history.ts';
import { MemoryIdempotencyStore } from './memory-idempotency-store.ts';
import { MemorySnapshots } from './memory-snapshots.ts';
import { MemoryCooldownStore, MemoryWindowStore } from './memory-window-store.ts';

interface Minute {
  readonly sequences: Set<number>;
  readonly events: Map<string, number>;
}

/** Evaluation tally of one process. */
class MemoryEvaluationTally implements EvaluationTally {
  readonly #minutes: ExpiringMap<Minute>;

  constructor(now: () => number) {
    this.#minutes = new ExpiringMap(now);
  }

  async add(messages: readonly EvaluatedMessage[]): Promise<void> {
    for (const { tenantId, receivedAtMs, sequence, events } of messages) {
      const key = String(minuteOf(receivedAtMs));
      const minute = this.#minutes.get(key) ?? { sequences: new Set(), events: new Map() };
      this.#minutes.set(key, minute, LIFETIMES.evaluationTally);
      if (minute.sequences.has(sequence)) continue;
      minute.sequences.add(sequence);
      minute.events.set(tenantId, (minute.events.get(tenantId) ?? 0) + events);
    }
  }

  async read(minuteMs: number): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#minutes.get(String(minuteMs))?.events);
  }
}

/** Instances connected to this process. */
class MemoryPresence implements Presence {
  readonly #endsAtMs = new Map<string, Map<string, number>>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  async touch(tenantId: string, agentId: string, instanceId: string, ttlMs: number): Promise<void> {
    const instances = this.#endsAtMs.get(tenantId) ?? new Map<string, number>();
    this.#endsAtMs.set(tenantId, instances);
    const nowMs = this.#now();
    for (const [name, endsAtMs] of instances) if (endsAtMs <= nowMs) instances.delete(name);
    instances.set(JSON.stringify([agentId, instanceId]), nowMs + ttlMs);
  }

  async list(tenantId: string, agentId?: string): Promise<readonly Instance[]> {
    const nowMs = this.#now();
    const present = [...(this.#endsAtMs.get(tenantId) ?? [])].filter(([, endsAtMs]) => endsAtMs > nowMs);
    return present
      .map(([name]) => JSON.parse(name) as [string, string])
      .filter(([agent]) => agentId === undefined || agent === agentId)
      .map(([agent, instanceId]) => ({ agentId: agent, instanceId }));
  }
}

/** Runs that were started at this process. */
class MemoryRunContexts implements RunContexts {
  readonly #contexts: ExpiringMap<string>;

  constructor(snapshots: MemorySnapshots) {
    this.#contexts = snapshots.map('run-contexts');
  }

  async keep(tenantId: string, runId: string, context: RunContext): Promise<RunContext> {
    const name = JSON.stringify([tenantId, runId]);
    const kept = this.#contexts.get(name);
    if (kept !== undefined) return JSON.parse(kept) as RunContext;
    this.#contexts.set(name, JSON.stringify(context), LIFETIMES.run);
    return context;
  }

  async find(tenantId: string, runId: string): Promise<RunContext | undefined> {
    const kept = this.#contexts.get(JSON.stringify([tenantId, runId]));
    return kept === undefined ? undefined : (JSON.parse(kept) as RunContext);
  }

  async forgetActor(tenantId: string, runIds: readonly string[]): Promise<void> {
    for (const runId of runIds) this.#contexts.change(JSON.stringify([tenantId, runId]), withoutActor);
  }
}

/** Trees of the runs that were started at this process. */
class MemoryRunTrees implements RunTrees {
  readonly #sets: ExpiringMap<Set<string>>;
  readonly #refused: ExpiringMap<true>;

  constructor(snapshots: MemorySnapshots) {
    this.#sets = snapshots.map('run-trees');
    this.#refused = snapshots.map('refused-runs');
  }

  async enter(member: TreeMember, { maxChildren, maxRuns }: CountedTreeLimits): Promise<ReachedTreeLimit | undefined> {
    const { tenantId, runId, ancestors } = member;
    const [parent] = ancestors;
    const root = ancestors.at(-1) ?? parent;
    const nameOf = (kind: 'tree' | 'children', id: string) => JSON.stringify([kind, tenantId, id]);
    const children = this.#set(nameOf('children', parent));
    const tree = this.#set(nameOf('tree', root)).add(root);
    for (const id of [runId, ...ancestors.slice(0, -1)]) {
      const name = nameOf('tree', id);
      for (const moved of this.#sets.get(name) ?? []) if (moved !== runId) tree.add(moved);
      this.#sets.delete(name);
    }
    const reached =
      maxChildren !== null && !children.has(runId) && children.size >= maxChildren
        ? 'children'
        : maxRuns !== null && !tree.has(runId) && tree.size >= maxRuns
          ? 'runs'
          : undefined;
    if (maxRuns !== null || tree.size > 1) this.#sets.set(nameOf('tree', root), tree, LIFETIMES.run);
    const refusal = JSON.stringify([tenantId, runId]);
    if (reached !== undefined) {
      this.#refused.set(refusal, true, LIFETIMES.run);
      return reached;
    }
    this.#refused.delete(refusal);
    if (maxChildren !== null) this.#sets.set(nameOf('children', parent), children.add(runId), LIFETIMES.run);
    if (maxRuns !== null) tree.add(runId);
    return undefined;
  }

  async retry(member: TreeMember, limits: CountedTreeLimits): Promise<ReachedTreeLimit | undefined> {
    const refused = this.#refused.get(JSON.stringify([member.tenantId, member.runId]));
    return refused === undefined ? undefined : this.enter(member, limits);
  }

  #set(name: string): Set<string> {
    return this.#sets.get(name) ?? new Set<string>();
  }
}

interface MemoryStateOptions {
  /** Clock for expiry. Windows use the times in each request. */
  readonly clock?: { now(): number };
  /** Result of `snapshot` of an earlier process. */
  readonly snapshot?: Uint8Array | undefined;
}

export interface MemoryState extends StateStores {
  /** Windows, cooldowns, calls, labels, breakers, budgets, run contexts and trees, for the next process. */
  snapshot(): Uint8Array;
}

/**
 * State of one process with the same semantics as Redis. It is lost with the process unless a snapshot is taken.
 * @throws if the snapshot cannot be read
 */
export function createMemoryState({ clock = Date, snapshot }: MemoryStateOptions = {}): MemoryState {
  const now = () => clock.now();
  const snapshots = new MemorySnapshots(now, snapshot);
  const cooldowns = new MemoryCooldownStore(snapshots);
  return {
    snapshot: () => snapshots.snapshot(),
    windows: new MemoryWindowStore(snapshots, cooldowns),
    cooldowns,
    quota: new MemoryQuota(now),
    idempotency: new MemoryIdempotencyStore(now),
    calls: new MemoryCallHistory(snapshots),
    labels: new MemoryLabelStore(snapshots),
    breakers: new MemoryBreakerStore(snapshots),
    budgets: new MemoryBudgetStore(snapshots),
    presence: new MemoryPresence(now),
    runContexts: new MemoryRunContexts(snapshots),
    runTrees: new MemoryRunTrees(snapshots),
    evaluationTally: new MemoryEvaluationTally(now),
    healthy: () => true,
    close: () => Promise.resolve(),
  };
}
