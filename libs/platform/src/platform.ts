import type { Database, DatabaseRole } from '@agentlens/database';
import type { EgressClient, EgressPolicy } from '@agentlens/egress';
import type { BreakerStore, BudgetStore, CallHistory, CooldownStore, WindowStore } from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { EvaluationTally, IdempotencyStore, Presence, Quota, RunContexts } from '@agentlens/state';
import type { Logger } from 'pino';
import type { KeyDirectory } from './auth/cached-key-directory.ts';
import type { PlatformConfig } from './config/config.ts';
import type { HealthRegistry } from './health/health-registry.ts';
import type { SecretBox } from './secret-box.ts';

/** The only source of "now" outside the domain; milliseconds since the epoch. */
export interface Clock {
  now(): number;
}

/**
 * Everything a service needs from the world. Five processes open one each, on NATS, Redis and Postgres; standalone opens
 * one in-process and gives it to all five. Service modules see no difference.
 */
export interface Platform {
  readonly config: PlatformConfig;
  readonly bus: EventBus;
  readonly windows: WindowStore;
  readonly cooldowns: CooldownStore;
  readonly quota: Quota;
  readonly idempotency: IdempotencyStore;
  readonly presence: Presence;
  readonly runContexts: RunContexts;
  readonly evaluationTally: EvaluationTally;
  readonly calls: CallHistory;
  readonly breakers: BreakerStore;
  readonly budgets: BudgetStore;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly egressPolicy: EgressPolicy;
  /** The only HTTP client for addresses that tenants choose. */
  readonly egress: EgressClient;
  readonly logger: Logger;
  readonly keys: KeyDirectory;
  readonly health: HealthRegistry;
  /** Opened once per role, closed with the platform. */
  database(role: DatabaseRole): Database;
  close(): Promise<void>;
}
