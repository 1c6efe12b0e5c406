import type { ColumnType, Generated } from 'kysely';
import type { Json, NullableJson, Timestamp } from './columns.ts';

type NullableTime = ColumnType<string | null, string | null | undefined, string | null>;

/** Writer: backtester. */
export interface BacktestsTable {
  tenant_id: string;
  backtest_id: string;
  spec: Json;
  rule: Json;
  in_force: NullableJson;
  status: 'queued' | 'running' | 'succeeded' | 'partial' | 'failed' | 'cancelled';
  progress: Json;
  result: NullableJson;
  error: Generated<string | null>;
  created_by: Generated<string | null>;
  created_at: Timestamp;
  started_at: NullableTime;
  finished_at: NullableTime;
  lease_id: Generated<string | null>;
  lease_until: NullableTime;
  attempts: Generated<number>;
  cancel_requested: Generated<boolean>;
}

/** Writer: backtester. At most 10,000 for each job. */
export interface BacktestFindingsTable {
  tenant_id: string;
  backtest_id: string;
  n: number;
  kind: string;
  at: Timestamp;
  outcome: 'harmless' | 'harmful' | 'unknown';
  body: Json;
}
