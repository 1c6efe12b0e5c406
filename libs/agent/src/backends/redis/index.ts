export type { RedisClientOptions } from './connection.ts';
export { RedisDatabaseClient } from './database.ts';
export { RedisMemoryClient } from './memory.ts';
