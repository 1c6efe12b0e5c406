import type { DecisionPath } from '@agentlens/contracts';
import type { Generated } from 'kysely';
import type { Json, JsonList, NullableJson, Timestamp } from './columns.ts';

/** Writer: query. */
export interface TenantsTable {
  id: string;
  name: string;
  created_at: Timestamp;
  decision_fail_mode: Generated<'allow' | 'block'>;
  decision_path: Generated<DecisionPath>;
  default_breaker: Generated<'on' | 'off'>;
  decision_arguments: Generated<'none' | 'redacted'>;
  denied_calls: Generated<'deny' | 'ask'>;
  /** Null: kept as long as the events. */
  content_retention_days: Generated<number | null>;
  settings_version: Generated<number>;
  /** Null: no limits. */
  tree_limits: NullableJson;
  tree_limits_version: Generated<number>;
}

/** Writer: query (ingest updates last_used_at through it). */
export interface ApiKeysTable {
  tenant_id: string;
  key_id: string;
  name: string;
  secret_hash: Buffer;
  scopes: string[];
  /** Agents that the key is bound to; null for every agent of the tenant. */
  agents: string[] | null;
  events_per_second: number | null;
  created_at: Timestamp;
  last_used_at: Timestamp | null;
  expires_at: Timestamp | null;
  revoked_at: Timestamp | null;
  version: Generated<number>;
}

/** Writer: query. Own prices of a tenant. */
export interface PriceOverridesTable {
  tenant_id: string;
  override_id: string;
  version: number;
  provider: string | null;
  model: string;
  from_day: string;
  /** The other members of the override. */
  price: Json;
  created_at: Timestamp;
  updated_at: Timestamp;
  deleted_at: Timestamp | null;
}

/** Writer: query. Price tables that operators loaded, for all tenants; the newest applies. */
export interface PriceTablesTable {
  version: string;
  providers: JsonList;
  models: number;
  loaded_at: Generated<string>;
  loaded_by: string | null;
}

/** Writer: query. */
export interface BrowserSessionsTable {
  tenant_id: string;
  session_id: string;
  key_id: string;
  user_agent: string;
  created_at: Timestamp;
  expires_at: Timestamp;
  ended_at: Timestamp | null;
}

/** Writer: query. */
export interface SavedViewsTable {
  tenant_id: string;
  view_id: string;
  page: string;
  name: string;
  query: string;
  updated_at: Timestamp;
  updated_by: string;
}

/** Writer: the service that makes the change. Rows are append-only. */
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
