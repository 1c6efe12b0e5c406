import type { Generated } from 'kysely';
import type { NullableJson, Timestamp } from './columns.ts';

/** Writer: each service, in the transaction of the fact; run-tracking removes what it has sealed. */
export interface LogPendingTable {
  tenant_id: string;
  kind: string;
  entry_id: string;
  at: Timestamp;
  run_id: string | null;
  payload: NullableJson;
  queued_at: Generated<string>;
}

/** Writer: run-tracking. */
export interface LogHeadsTable {
  tenant_id: string;
  log_id: string;
  size: Generated<number>;
  frontier: Generated<Buffer>;
  checkpoint_size: Generated<number>;
  sealed_at: Generated<string>;
  broken: Generated<string | null>;
}

/** Writer: run-tracking. Rows are immutable. */
export interface LogLeavesTable {
  tenant_id: string;
  index: number;
  kind: string;
  entry_id: string;
  leaf: string;
}

/** Writer: run-tracking. Removed when the content is. */
export interface LogPayloadsTable {
  tenant_id: string;
  index: number;
  kind: string;
  entry_id: string;
  salt: Buffer;
  member_salt: Buffer | null;
  withheld: NullableJson;
  body: string | null;
  run_id: string | null;
  run_entry: number | null;
}

/** Writer: run-tracking. Entries of each run. */
export interface LogRunsTable {
  tenant_id: string;
  run_id: string;
  entries: number;
}

/** Writer: run-tracking. Full tiles only; rows are immutable. */
export interface LogTilesTable {
  tenant_id: string;
  level: number;
  n: number;
  hashes: Buffer;
  root: Buffer;
}

/** Writer: run-tracking. Rows are immutable. */
export interface LogCheckpointsTable {
  tenant_id: string;
  size: number;
  root: Buffer;
  note: string;
  at: Timestamp;
}

/** Writer: action-dispatcher. Rows are immutable. */
export interface LogCosignaturesTable {
  tenant_id: string;
  witness: string;
  size: number;
  line: string;
  at: Timestamp;
}

/** Writer: run-tracking. A single row: the signing key of the installation, sealed. */
export interface LogKeysTable {
  id: Generated<boolean>;
  public_key: Buffer;
  sealed: string;
  created_at: Generated<string>;
}
