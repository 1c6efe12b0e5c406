import { createHttpApp, createLogger, loadConfig, openPlatform, type Platform } from '@agentlens/platform';
import type { FreshDatabase, TestServer } from '@agentlens/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { IngestModule } from '../src/index.ts';

/** The gateway as in production, ready to listen. */
export interface GatewayInstance {
  readonly platform: Platform;
  readonly app: NestFastifyApplication;
  close(): Promise<void>;
}

export interface RealServers {
  readonly nats: TestServer;
  readonly redis: TestServer;
  readonly database: FreshDatabase;
}

export async function openInstance({ nats, redis, database }: RealServers): Promise<GatewayInstance> {
  const config = loadConfig('ingest', {
    NATS_URL: nats.url,
    REDIS_URL: redis.url,
    DATABASE_URL: database.url,
    AGENTLENS_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    AGENTLENS_MIGRATE: 'true',
  });
  const platform = await openPlatform(config, createLogger({ name: 'ingest', level: 'fatal' }));
  const app = await createHttpApp(platform, [IngestModule.register(platform)]);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
  return {
    platform,
    app,
    close: async () => {
      await app.close();
      await platform.close();
    },
  };
}
