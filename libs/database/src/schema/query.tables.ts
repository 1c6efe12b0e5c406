import type { AccessWay, DecisionPath, Role } from '@agentlens/contracts';
import type { ColumnType, Generated } from 'kysely';
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
  /** The person whose session or personal key this is; null for a key of a program. */
  person_id: Generated<string | null>;
  via: Generated<AccessWay | null>;
  signed_in_at: ColumnType<string | null, string | null | undefined, string | null>;
  /** A session ends after this long without a request. */
  idle_seconds: Generated<number | null>;
  provider_id: Generated<string | null>;
  /** Id of the session at the provider. */
  sid: Generated<string | null>;
  break_glass: Generated<boolean>;
}

/** Writer: query. */
export interface IdentityProvidersTable {
  tenant_id: string;
  provider_id: string;
  settings: Json;
  /** The client secret, sealed for `[tenant_id, 'identity_providers', provider_id]`. */
  secret: string | null;
  version: number;
  created_at: Timestamp;
}

/** Writer: query. */
export interface PeopleTable {
  tenant_id: string;
  person_id: string;
  name: string;
  email: string | null;
  email_verified: Generated<boolean>;
  state: Generated<'active' | 'disabled'>;
  /** Grants from claims are valid until then. */
  claims_until: Timestamp | null;
  last_seen_at: Timestamp | null;
  created_at: Timestamp;
  version: Generated<number>;
}

/** Writer: query. */
export interface PersonIdentitiesTable {
  tenant_id: string;
  provider_id: string;
  issuer: string;
  subject: string;
  person_id: string;
}

/** Writer: query. */
export interface PersonGrantsTable {
  tenant_id: string;
  person_id: string;
  role: Role;
  /** Empty: everywhere. */
  team_id: string;
  source: 'provider' | 'manual';
}

/** Writer: query. */
export interface TeamsTable {
  tenant_id: string;
  team_id: string;
  name: string;
  /** Patterns of the agents that the team owns. */
  agents: Generated<string[]>;
  created_at: Timestamp;
  version: Generated<number>;
}

/** Writer: query. */
export interface TeamMembersTable {
  tenant_id: string;
  team_id: string;
  person_id: string;
  source: 'provider' | 'manual';
}

/** Writer: query. */
export interface DeputiesTable {
  tenant_id: string;
  /** The person who named the deputy. */
  person_id: string;
  deputy_id: string;
  starts_at: Timestamp;
  ends_at: Timestamp;
  created_at: Timestamp;
}

/** Writer: query. */
export interface OnCallSchedulesTable {
  tenant_id: string;
  schedule_id: string;
  name: string;
  /** List of `OnCallLayer`. */
  layers: JsonList;
  created_at: Timestamp;
  version: Generated<number>;
}

/** Writer: query. */
export interface OnCallOverridesTable {
  tenant_id: string;
  schedule_id: string;
  override_id: string;
  person_id: string;
  starts_at: Timestamp;
  ends_at: Timestamp;
  created_at: Timestamp;
}

/** Writer: query. Logout tokens that were accepted, so that none is used twice. */
export interface LogoutTokensTable {
  tenant_id: string;
  provider_id: string;
  jti: string;
  received_at: Timestamp;
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

/** Writer: query. */
export interface ProviderConnectionsTable {
  tenant_id: string;
  name: string;
  dialect: string;
  base_url: string;
  /** Null if the provider takes no key. Readable by the gateway and the writer only. */
  sealed_credential: string | null;
  fingerprint: string | null;
  credential_set_at: Timestamp | null;
  /** Globs of models that may be called; null for all. */
  models: string[] | null;
  forward_headers: string[];
  pricing_provider: string | null;
  enabled: Generated<boolean>;
  /** Name of another connection of the tenant. */
  fallback: string | null;
  first_byte_seconds: number | null;
  version: number;
  created_at: Timestamp;
  updated_at: Timestamp;
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
  /** Null: `person` is what the request says. */
  person_id: Generated<string | null>;
  via: Generated<string | null>;
  session_id: Generated<string | null>;
}
