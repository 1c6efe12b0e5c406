import { DataDirectoryInUse } from '@agentlens/database';
import { BusUnavailable } from '@agentlens/messaging';
import type { DynamicModule, Provider } from '@nestjs/common';
import { loadConfig, type PlatformConfig } from './config/config.ts';
import { ConfigError } from './config/config-error.ts';
import type { ServiceName } from './config/process-names.ts';
import { createHttpApp } from './http/create-http-app.ts';
import { isDatabaseAway } from './http/database-away.ts';
import { LINGER_MS, listen, shutDown, shutDownOnSignal } from './lifecycle/serve.ts';
import { openPlatform } from './open-platform.ts';
import type { Platform } from './platform.ts';

/** The module of a service, the same in its own process and in standalone. */
export interface ServiceModule {
  register(platform: Platform): DynamicModule;
}

/** Makes each of these objects injectable by its class. */
export function providersOf(objects: Readonly<Record<string, object>>): Provider[] {
  return Object.values(objects).map((object) => ({ provide: object.constructor, useValue: object }));
}

/** Runs a service: reads the environment, opens the platform and serves until a signal. */
export async function runService(name: ServiceName, module: ServiceModule): Promise<void> {
  try {
    const config = loadConfig(name);
    const starting = start(config, module);
    // Registered first, so that a signal during the start also closes what is open.
    shutDownOnSignal(
      async () => (await starting).stop(),
      (line) => process.stderr.write(`${line}\n`),
      config.drainSeconds,
    );
    await starting;
  } catch (error) {
    process.stderr.write(`${explain(name, error)}\n`);
    process.exit(1);
  }
}

async function start(config: PlatformConfig, module: ServiceModule): Promise<{ stop(): Promise<void> }> {
  const platform = await openPlatform(config);
  const app = await createHttpApp(platform, [module.register(platform)]);
  const address = await listen(app, platform);
  platform.logger.info({ address }, 'ready');
  platform.health.onDrain(() => platform.logger.info('draining'));
  return { stop: () => shutDown(app, platform, LINGER_MS) };
}

/** Explains a failed start: mistakes in the environment by their message, other errors with a stack. */
export function explain(name: string, error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  if (!(error instanceof Error)) return `${name} could not start: ${String(error)}`;
  if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
    const { port } = error as Error & { port?: number };
    return `Port ${port ?? ''} is in use by another program. Stop it, or choose another: AGENTLENS_HTTP_PORT=3401`;
  }
  if (error instanceof DataDirectoryInUse) {
    return (
      `${name} could not start: ${error.message}. ` +
      'Stop that one, or give this one its own folder and port: AGENTLENS_DATA_DIR=... AGENTLENS_HTTP_PORT=3401'
    );
  }
  if (error instanceof BusUnavailable) return `${name} could not start: ${error.message}`;
  if (isUnusableDatabase(error)) {
    return `${name} could not start: the database of DATABASE_URL cannot be used: ${error.message || 'it does not answer'}`;
  }
  return `${name} could not start: ${error.stack ?? error.message}`;
}

/** SQL states of a wrong password, an unknown user and an unknown database. */
const REJECTED_BY_DATABASE = ['28P01', '28000', '3D000'];

function isUnusableDatabase(error: Error): boolean {
  const { code } = error as { code?: unknown };
  const isOfDriver = /node_modules[\\/]pg/.test(error.stack ?? '');
  return (isOfDriver && isDatabaseAway(error)) || (typeof code === 'string' && REJECTED_BY_DATABASE.includes(code));
}
