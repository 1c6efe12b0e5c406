export { aBatch, anEvent, aRule, aTrigger } from './builders/index.ts';
export { type FreshDatabase, freshDatabase, insertRecordedRows } from './fresh-database.ts';
export {
  HandlebarClient,
  type HandlebarDecision,
  type HandlebarOptions,
  type HandlebarRun,
  type MadeCall,
} from './handlebar-client.ts';
export { type RecordedMeters, recordMeters } from './recorded-meters.ts';
export { type RecordedRequest, type RecordingServer, recordingServer } from './recording-server.ts';
export {
  beginStream,
  type FakeProvider,
  type ProviderAnswer,
  type ProviderRequest,
  readProviderRequest,
  SAID,
  say,
  startFakeProvider,
} from './fake-provider.ts';
export { startAlertmanager } from './servers/alertmanager.ts';
export { findProgram, onPath } from './servers/find-program.ts';
export { NATS_PACKAGE, type NatsOptions, startNats } from './servers/nats.ts';
export { type PostgresOptions, startPostgres } from './servers/postgres.ts';
export { type RedisOptions, startRedis } from './servers/redis.ts';
export { freePort } from './servers/server-process.ts';
export type { TestServer } from './servers/test-server.ts';
export { type ProxyMode, type TcpProxy, tcpProxy } from './tcp-proxy.ts';
export { eventually, type FixedClock, fixedClock } from './time.ts';
