import type { ColumnType, Generated } from 'kysely';
import type {
  AgentDirectivesTable,
  AlertsTable,
  ApprovalCallsTable,
  ApprovalPoliciesTable,
  ApprovalVotesTable,
  ControlAcknowledgementsTable,
  ControlOrdersTable,
  DeliveriesTable,
  DeliveryAttemptsTable,
  DestinationsTable,
  GuardrailTriggersTable,
  TriggerCooldownsTable,
  WebhookEndpointsTable,
} from './action-dispatcher.tables.ts';
import type {
  ApprovalStepsTable,
  ChannelsTable,
  ChatLinksTable,
  NoticeAlertsTable,
  NoticeGroupsTable,
  NoticeMembersTable,
  NoticesTable,
  RoutingDocumentsTable,
  SilencesTable,
} from './channel.tables.ts';
import type { Json, NullableJson, Timestamp } from './columns.ts';
import type {
  BreakerLimitsTable,
  BudgetLedgerTable,
  BudgetsTable,
  CircuitBreakersTable,
  GuardrailRulesTable,
  GuardrailStatesTable,
  RuleVersionsTable,
  RunLabelStoresTable,
  RunLabelsTable,
} from './guardrail-evaluator.tables.ts';
import type {
  LogCheckpointsTable,
  LogCosignaturesTable,
  LogHeadsTable,
  LogKeysTable,
  LogLeavesTable,
  LogPayloadsTable,
  LogPendingTable,
  LogRunsTable,
  LogTilesTable,
} from './log.tables.ts';
import type {
  ApiKeysTable,
  AuditEntriesTable,
  BrowserSessionsTable,
  DeputiesTable,
  IdentityProvidersTable,
  LogoutTokensTable,
  OnCallOverridesTable,
  OnCallSchedulesTable,
  PeopleTable,
  PersonGrantsTable,
  PersonIdentitiesTable,
  PriceOverridesTable,
  PriceTablesTable,
  ProviderConnectionsTable,
  SavedViewsTable,
  TeamMembersTable,
  TeamsTable,
  TenantsTable,
} from './query.tables.ts';
import type {
  ActivityTable,
  AgentDailyTable,
  AgentsTable,
  AuditMinutesTable,
  AuditPositionTable,
  DecisionPathsTable,
  DecisionsTable,
  DeletedRunsTable,
  ErasuresTable,
  EventsTable,
  RepricesTable,
  RuleDailyTable,
  RuleMinutesTable,
  RunsTable,
} from './run-tracking.tables.ts';

// Grouped by writer: each table has one, and that file defines its rows.
export type * from './action-dispatcher.tables.ts';
export type * from './channel.tables.ts';
export type { Timestamp } from './columns.ts';
export type * from './guardrail-evaluator.tables.ts';
export type * from './log.tables.ts';
export type * from './query.tables.ts';
export type * from './run-tracking.tables.ts';

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

/** Writer: the service that commits the fact; `writer` selects its relay. */
interface OutboxTable {
  id: Generated<number>;
  writer: string;
  topic: string;
  body: Json;
  created_at: Timestamp;
}

export interface Tables {
  tenants: TenantsTable;
  backtests: BacktestsTable;
  backtest_findings: BacktestFindingsTable;
  api_keys: ApiKeysTable;
  browser_sessions: BrowserSessionsTable;
  identity_providers: IdentityProvidersTable;
  people: PeopleTable;
  person_identities: PersonIdentitiesTable;
  person_grants: PersonGrantsTable;
  teams: TeamsTable;
  team_members: TeamMembersTable;
  deputies: DeputiesTable;
  on_call_schedules: OnCallSchedulesTable;
  on_call_overrides: OnCallOverridesTable;
  logout_tokens: LogoutTokensTable;
  saved_views: SavedViewsTable;
  audit_entries: AuditEntriesTable;
  log_pending: LogPendingTable;
  log_heads: LogHeadsTable;
  log_leaves: LogLeavesTable;
  log_payloads: LogPayloadsTable;
  log_runs: LogRunsTable;
  log_tiles: LogTilesTable;
  log_checkpoints: LogCheckpointsTable;
  log_cosignatures: LogCosignaturesTable;
  log_keys: LogKeysTable;
  agents: AgentsTable;
  runs: RunsTable;
  deleted_runs: DeletedRunsTable;
  erasures: ErasuresTable;
  price_overrides: PriceOverridesTable;
  price_tables: PriceTablesTable;
  provider_connections: ProviderConnectionsTable;
  reprices: RepricesTable;
  events: EventsTable;
  agent_daily: AgentDailyTable;
  activity: ActivityTable;
  audit_minutes: AuditMinutesTable;
  audit_position: AuditPositionTable;
  decisions: DecisionsTable;
  decision_paths: DecisionPathsTable;
  rule_daily: RuleDailyTable;
  rule_minutes: RuleMinutesTable;
  guardrail_rules: GuardrailRulesTable;
  rule_versions: RuleVersionsTable;
  guardrail_states: GuardrailStatesTable;
  circuit_breakers: CircuitBreakersTable;
  breaker_limits: BreakerLimitsTable;
  budgets: BudgetsTable;
  budget_ledger: BudgetLedgerTable;
  run_labels: RunLabelsTable;
  run_label_stores: RunLabelStoresTable;
  guardrail_triggers: GuardrailTriggersTable;
  trigger_cooldowns: TriggerCooldownsTable;
  deliveries: DeliveriesTable;
  delivery_attempts: DeliveryAttemptsTable;
  destinations: DestinationsTable;
  webhook_endpoints: WebhookEndpointsTable;
  agent_directives: AgentDirectivesTable;
  alerts: AlertsTable;
  approval_calls: ApprovalCallsTable;
  approval_policies: ApprovalPoliciesTable;
  approval_votes: ApprovalVotesTable;
  channels: ChannelsTable;
  routing_documents: RoutingDocumentsTable;
  silences: SilencesTable;
  notice_groups: NoticeGroupsTable;
  notice_members: NoticeMembersTable;
  notices: NoticesTable;
  notice_alerts: NoticeAlertsTable;
  approval_steps: ApprovalStepsTable;
  chat_links: ChatLinksTable;
  control_orders: ControlOrdersTable;
  control_acknowledgements: ControlAcknowledgementsTable;
  outbox: OutboxTable;
}
