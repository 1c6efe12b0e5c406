import type { BreakerStore, BudgetStore, CallHistory, CooldownStore, WindowStore } from '@agentlens/guardrails';
import type { EvaluationTally } from './evaluation-tally.ts';
import type { IdempotencyStore } from './idempotency-store.ts';
import type { Presence } from './presence.ts';
import type { Quota } from './quota.ts';
import type { RunContexts } from './run-contexts.ts';

/** Everything that counts and forgets, opened together because it lives in one place: this process, or one Redis. */
export interface StateStores {
  readonly windows: WindowStore;
  readonly cooldowns: CooldownStore;
  readonly quota: Quota;
  readonly idempotency: IdempotencyStore;
  readonly calls: CallHistory;
  readonly breakers: BreakerStore;
  readonly budgets: BudgetStore;
  readonly presence: Presence;
  readonly runContexts: RunContexts;
  readonly evaluationTally: EvaluationTally;
  /** False while the store is away; calls then fail with StateUnavailable, except those that have a fallback. */
  healthy(): boolean;
  close(): Promise<void>;
}
