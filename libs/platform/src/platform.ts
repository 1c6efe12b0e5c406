import type { Database, DatabaseRole } from '@agentlens/database';
import type { EgressClient, EgressPolicy } from '@agentlens/egress';
import type {
  BreakerStore,
  BudgetStore,
  CallHistory,
  CooldownStore,
  LabelStore,
  WindowStore,
} from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { EvaluationTally, IdempotencyStore, Presence, Quota, RunContexts, RunTrees } from '@agentlens/state';
import type { Logger } from 'pino';
import type { KeyDirectory } from './auth/cached-key-directory.ts';
import type { PlatformConfig } from './config/config.ts';
import type { HealthRegistry } from './health/health-registry.ts';
import type { SecretBox } from './secret-box.ts';

/** The only source of the current time outside of the domain, in milliseconds since the epoch. */
export interface Clock {
  now(): number;
}

/**
 * The ports of a service. In production each process opens a platform on NATS, Redis and Postgres; standalone opens one
 * in memory for all services.
 *
 * A new port is added here and in `assemble-platform.ts`.
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
  readonly runTrees: RunTrees;
  readonly evaluationTally: EvaluationTally;
  readonly calls: CallHistory;
  readonly labels: LabelStore;
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
  /** Opens a database once per role; it is closed with the platform. */
  database(role: DatabaseRole): Database;
  close(): Promise<void>;
}
