export { aBatch, anEvent, aRule, aTrigger } from './builders/index.ts';
export { eventually } from './eventually.ts';
export { type FixedClock, fixedClock } from './fixed-clock.ts';
export { type FreshDatabase, freshDatabase } from './fresh-database.ts';
export {
  HandlebarClient,
  type HandlebarDecision,
  type HandlebarOptions,
  type HandlebarRun,
  type MadeCall,
} from './handlebar-client.ts';
export { type HeardMeters, hearMeters } from './heard-meters.ts';
export { insertRecordedRows } from './recorded-rows.ts';
export { type RecordedRequest, type RecordingServer, recordingServer } from './recording-server.ts';
export { findProgram, onPath } from './servers/find-program.ts';
export { freePort } from './servers/free-port.ts';
export { NATS_PACKAGE, type NatsOptions, startNats } from './servers/nats.ts';
export { type PostgresOptions, startPostgres } from './servers/postgres.ts';
export { type RedisOptions, startRedis } from './servers/redis.ts';
export type { TestServer } from './servers/test-server.ts';
export { type ProxyMode, type TcpProxy, tcpProxy } from './tcp-proxy.ts';
