import { keyUsed } from '@agentlens/contracts';
import { type Database, type DatabaseRole, openDatabase } from '@agentlens/database';
import { createEgressClient, type EgressClient } from '@agentlens/egress';
import type { EventBus } from '@agentlens/messaging';
import type { StateStores } from '@agentlens/state';
import type { Logger } from 'pino';
import { CachedKeyDirectory } from './auth/cached-key-directory.ts';
import { readKeyRecords } from './auth/key-records.ts';
import type { PlatformConfig } from './config/config.ts';
import { HealthRegistry } from './health/health-registry.ts';
import type { Clock, Platform } from './platform.ts';
import { AesSecretBox } from './secret-box.ts';

/** Opened parts of a platform. Closing the platform closes them. */
interface PlatformDependencies {
  readonly config: PlatformConfig;
  readonly bus: EventBus;
  readonly state: StateStores;
  readonly databaseUrl: string;
  readonly secretKeys: readonly string[];
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Called last when closing, after every connection is closed (embedded Postgres). */
  readonly afterClose?: () => Promise<void>;
}

/** Services whose own role may read keys. */
const KEY_READERS = ['ingest', 'model-gateway'] as const;

const SYSTEM_CLOCK: Clock = { now: () => Date.now() };

/** Builds a platform from opened parts. Specs pass memory adapters and a fixed clock. */
export function assemblePlatform(parts: PlatformDependencies): Platform & { readonly keys: CachedKeyDirectory } {
  const { config, bus, state, logger } = parts;
  const clock = parts.clock ?? SYSTEM_CLOCK;
  const egressPolicy = { allow: config.egressAllow };
  let egress: EgressClient | undefined;
  const health = new HealthRegistry();
  const databases = new Map<DatabaseRole, Database>();

  const database = (role: DatabaseRole): Database => {
    const open = databases.get(role) ?? openFor(role, parts, health);
    databases.set(role, open);
    return open;
  };
  const keys = new CachedKeyDirectory({
    read: (keyIds) => readKeyRecords(database(KEY_READERS.find((role) => role === config.service) ?? 'query'), keyIds),
    clock,
    defaultEventsPerSecond: config.keyEventsPerSecond,
    onUse: ({ tenantId, keyId, atMs }) => {
      const use = { tenantId, keyId, at: new Date(atMs).toISOString() };
      bus
        .publish(keyUsed, use)
        .catch((error: unknown) => logger.debug({ err: error }, 'publishing the use of a key failed'));
    },
  });

  return {
    config,
    bus,
    windows: state.windows,
    cooldowns: state.cooldowns,
    quota: state.quota,
    idempotency: state.idempotency,
    presence: state.presence,
    runContexts: state.runContexts,
    runTrees: state.runTrees,
    evaluationTally: state.evaluationTally,
    calls: state.calls,
    labels: state.labels,
    breakers: state.breakers,
    budgets: state.budgets,
    clock,
    secrets: new AesSecretBox(parts.secretKeys),
    egressPolicy,
    get egress() {
      egress ??= createEgressClient(egressPolicy);
      return egress;
    },
    logger,
    keys,
    health,
    database,
    close: async () => {
      const pools = [...databases.values()].map((open) => () => open.close());
      const closers = [() => bus.close(), async () => egress?.close(), () => state.close(), ...pools, parts.afterClose];
      for (const close of closers) {
        // Continue if one fails to close.
        await close?.().catch((error: unknown) => logger.warn({ err: error }, 'closing a connection failed'));
      }
    },
  };
}

function openFor(
  role: DatabaseRole,
  { config, databaseUrl, logger }: PlatformDependencies,
  health: HealthRegistry,
): Database {
  return openDatabase({
    url: databaseUrl,
    role,
    applicationName: config.service === role ? `agentlens-${role}` : `agentlens-${config.service}-${role}`,
    onIdleError: (error) => {
      // During a drain the embedded server may stop before the pool has closed its connections.
      logger[health.draining ? 'debug' : 'warn']({ err: error }, 'idle database connection lost');
    },
  });
}
