import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiKeys, loadConfig, type Platform } from '@agentlens/platform';
import { type Standalone, startStandalone } from '../../src/index.ts';
import { budgetCountOf, ruleCountOf } from './loaded-settings.ts';
import type { PlatformUnderTest, Scope } from './platform-under-test.ts';

interface Settings {
  readonly env?: Readonly<Record<string, string>>;
}

/** One process on embedded Postgres, like `npm start`; webhooks to loopback are allowed. */
export async function startEmbedded({ env = {} }: Settings = {}): Promise<PlatformUnderTest> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agentlens-e2e-'));
  const config = loadConfig('standalone', {
    AGENTLENS_DATA_DIR: dataDir,
    AGENTLENS_HTTP_PORT: '0',
    AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32',
    AGENTLENS_LOG_LEVEL: 'error',
    ...env,
  });
  let running: Standalone = await startStandalone(config);
  if (running.key.kind !== 'made') throw new Error('the first start makes a key');
  const adminKey = running.key.key;
  return {
    adminKey,
    addressFor: () => running.address,
    get edges() {
      return [running.address];
    },
    get bus() {
      return running.platform.bus;
    },
    ruleCounts: async () => [await ruleCountOf(running.platform)],
    budgetCounts: async () => [await budgetCountOf(running.platform)],
    keyOf: (tenantId, ...scopes) => makeKey(running.platform, tenantId, scopes),
    restart: async () => {
      await running.stop();
      running = await startStandalone(config);
    },
    stop: async () => {
      await running.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function makeKey(platform: Platform, tenantId: string, scopes: readonly Scope[]) {
  const database = platform.database('query');
  await database.db
    .insertInto('tenants')
    .values({ id: tenantId, name: tenantId, created_at: new Date(platform.clock.now()).toISOString() })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const keys = new ApiKeys(database, platform.bus, platform.clock, platform.logger);
  return keys.create({ tenantId, name: 'test', scopes });
}
