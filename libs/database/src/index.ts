export { auditEntryFromRow, recordChanges } from './audit.ts';
export type { Database, DatabaseRole } from './database.ts';
export { type DataError, isDataError, isMovedPartition, refusalText } from './database.ts';
export { DataDirectoryInUse } from './embedded/server.ts';
export { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/start-embedded-postgres.ts';
export { inHalves } from './in-halves.ts';
export { checkLog, type LogCheck, type LogCheckPosition, type LogFinding } from './log/log-check.ts';
export { readChangeRows, readDecisionRows } from './log/log-rows.ts';
export { tilesFrom } from './log/log-tiles.ts';
export { migrate, migrateUpTo } from './migrate.ts';
export { openDatabase } from './open-database.ts';
export { type OutboxMessage, OutboxRelay } from './outbox-relay.ts';
export { dropPartitions, ensurePartitions } from './partitions.ts';
export { lockUntilEnd, rowGroups, shareLockUntilEnd } from './queries.ts';
export { type News, type NewsOf, RecordNews } from './record-news.ts';
export { DATABASE_ROLES, grantLogins, READER_ROLE, roleName, type ServicePasswords } from './roles.ts';
export { type Columns, JsonText, RowArray, type RowType, readRowTypes } from './row-arrays/row-array.ts';
export {
  alertFromRow,
  backtestFromRow,
  budgetFromRow,
  directiveFromRow,
  driftFromRow,
  orderFromRow,
  priceOverrideFromRow,
  repriceFromRow,
  ruleFromRow,
  webhookFromRow,
} from './rows.ts';
export { BYPASSED_DECISION, judgedStops, ruleFigures } from './rule-figures.ts';
export { runLine } from './run-line.ts';
export type * from './schema/tables.ts';
export {
  labelsFromAlert,
  type OpenSilence,
  ownLabels,
  readFiringAlerts,
  readOpenSilences,
} from './routing-rows.ts';
