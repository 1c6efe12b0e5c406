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
import { MemoryWindowStore } from './memory-window-store.ts';

export interface MemoryStateOptions {
  /** When things end. Windows themselves go by the times in each request. */
  readonly clock?: { now(): number };
}

/** State of one process, gone with it; the same semantics as Redis. */
export function createMemoryState({ clock = Date }: MemoryStateOptions = {}): StateStores {
  const now = () => clock.now();
  const cooldowns = new MemoryCooldownStore(now);
  return {
    windows: new MemoryWindowStore(now, cooldowns),
    cooldowns,
    quota: new MemoryQuota(now),
    idempotency: new MemoryIdempotencyStore(now),
    calls: new MemoryCallHistory(now),
    breakers: new MemoryBreakerStore(now),
    budgets: new MemoryBudgetStore(now),
    presence: new MemoryPresence(now),
    runContexts: new MemoryRunContexts(now),
    evaluationTally: new MemoryEvaluationTally(now),
    healthy: () => true,
    close: () => Promise.resolve(),
  };
}
