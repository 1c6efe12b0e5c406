export type { PostgresClientOptions } from './connection.ts';
export { PostgresDatabaseClient } from './database.ts';
export { PostgresMemoryClient } from './memory.ts';
export { postgresDriver } from './sql-driver.ts';
