export type { SqliteOptions } from './connection.ts';
export { sqliteDriver } from './connection.ts';
export { SqliteDatabaseClient } from './database.ts';
export { SqliteMemoryClient } from './memory.ts';
