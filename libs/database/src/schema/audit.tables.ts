import type { NullableJson, Timestamp } from './columns.ts';

/** Writers: whoever makes the change. Rows are added and never changed. */
export interface AuditEntriesTable {
  tenant_id: string;
  entry_id: string;
  at: Timestamp;
  kind: string;
  target: string;
  target_id: string;
  key_id: string | null;
  key_name: string | null;
  person: string | null;
  reason: string | null;
  before: NullableJson;
  after: NullableJson;
}
