import { resolve } from 'node:path';
import { ActionDispatcherModule } from '@agentlens/action-dispatcher';
import { BacktesterModule } from '@agentlens/backtester';
import { GuardrailEvaluatorModule } from '@agentlens/guardrail-evaluator';
import { IngestModule } from '@agentlens/ingest';
import { ModelGatewayModule } from '@agentlens/model-gateway';
import {
  createHttpApp,
  ensureBootstrapKey,
  ensurePlatformKey,
  listen,
  openPlatform,
  type Platform,
  type PlatformConfig,
  shutDown,
} from '@agentlens/platform';
import { QueryModule, SignInCodes } from '@agentlens/query';
import { RunTrackingModule } from '@agentlens/run-tracking';
import { type KeyNote, keyNote } from './key-note.ts';

/** The whole platform in this process, ready. */
export interface Standalone {
  readonly address: string;
  readonly dataDir: string;
  readonly key: KeyNote;
  /** The key that creates tenants. */
  readonly platformKey: KeyNote;
  /** Opens the console signed in; valid once, within an hour. Undefined if no key is known here. */
  readonly signInLink: string | undefined;
  readonly platform: Platform;
  /** Drains and closes everything. The data is kept. */
  stop(): Promise<void>;
}

/** Consumers before producers, so that the first event of ingest finds its consumer groups. */
const SERVICES = [
  RunTrackingModule,
  GuardrailEvaluatorModule,
  ActionDispatcherModule,
  BacktesterModule,
  QueryModule,
  IngestModule,
  ModelGatewayModule,
];

/** Looks up a provider in any module. */
const ANYWHERE = { strict: false };

/** Starts all services on one platform. The given platform is the only difference from one process for each. */
export async function startStandalone(config: PlatformConfig): Promise<Standalone> {
  const platform = await openPlatform(config);
  try {
    const made = await ensureBootstrapKey(platform);
    const key = await keyNote(config, { name: 'api-key', given: config.bootstrapKey }, made);
    const madePlatformKey = await ensurePlatformKey(platform);
    const platformKey = await keyNote(config, { name: 'platform-key', given: config.platformKey }, madePlatformKey);
    const app = await createHttpApp(
      platform,
      SERVICES.map((service) => service.register(platform)),
    );
    try {
      const address = await listen(app, platform);
      const signInLink = linkFor(address, 'key' in key ? key.key : config.bootstrapKey, app.get(SignInCodes, ANYWHERE));
      const dataDir = resolve(config.dataDir);
      return { address, dataDir, key, platformKey, signInLink, platform, stop: () => shutDown(app, platform) };
    } catch (error) {
      await app.close().catch(() => undefined);
      throw error;
    }
  } catch (error) {
    await platform.close().catch(() => undefined);
    throw error;
  }
}

/** The code follows the #, which browsers do not send to servers. */
function linkFor(address: string, key: string | undefined, codes: SignInCodes): string | undefined {
  return key === undefined ? undefined : `${address}/sign-in#code=${codes.create(key).code}`;
}
