export type { Database, DatabaseRole } from './database.ts';
export { DataDirectoryInUse } from './embedded/previous-server.ts';
export { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/start-embedded-postgres.ts';
export { migrate } from './migrate.ts';
export { type DatabaseOptions, openDatabase } from './open-database.ts';
export { type OutboxMessage, OutboxRelay, type OutboxRelayOptions } from './outbox-relay.ts';
export { dropPartitions, ensurePartitions, type PartitionedTable, partitionSpan } from './partitions.ts';
export { DATABASE_ROLES, READER_ROLE, roleName } from './roles.ts';
export type * from './schema/tables.ts';
