export type { Database, DatabaseRole } from './database.ts';
export type * from './schema/tables.ts';
