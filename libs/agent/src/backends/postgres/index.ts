export type { PostgresClientOptions } from './connection.ts';
export { postgresDriver } from './connection.ts';
export { PostgresDatabaseClient } from './database.ts';
export { PostgresMemoryClient } from './memory.ts';
