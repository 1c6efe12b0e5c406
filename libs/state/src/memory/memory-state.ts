import type { StateStores } from '../state-stores.ts';
import { MemoryBreakerStore } from './memory-breaker-store.ts';
import { MemoryBudgetStore } from './memory-budget-store.ts';
import { MemoryCallHistory } from './memory-call-history.ts';
import { MemoryCooldownStore } from './memory-cooldown-store.ts';
import { MemoryEvaluationTally } from './memory-evaluation-tally.ts';
import { MemoryIdempotencyStore } from './memory-idempotency-store.ts';
import { MemoryPresence } from './memory-presence.ts';
import { MemoryQuota } from './memory-quota.ts';
import { MemoryRunContexts } from './memory-run-contexts.ts';
import { MemorySnapshots } from './memory-snapshots.ts';
import { MemoryWindowStore } from './memory-window-store.ts';

interface MemoryStateOptions {
  /** When things end. Windows themselves go by the times in each request. */
  readonly clock?: { now(): number };
  /** What `snapshot` of an earlier process answered. */
  readonly snapshot?: Uint8Array | undefined;
}

export interface MemoryState extends StateStores {
  /** Windows, cooldowns, calls, breakers and what starts of runs said, to be handed to the next process. */
  snapshot(): Uint8Array;
}

/**
 * State of one process, gone with it unless a snapshot is taken; the same semantics as Redis.
 * @throws where the snapshot cannot be read
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
    breakers: new MemoryBreakerStore(snapshots),
    budgets: new MemoryBudgetStore(now),
    presence: new MemoryPresence(now),
    runContexts: new MemoryRunContexts(snapshots),
    evaluationTally: new MemoryEvaluationTally(now),
    healthy: () => true,
    close: () => Promise.resolve(),
  };
}
