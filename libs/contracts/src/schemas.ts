/** Entry point for schemas and units of time. Needs no Node built-in, so that a browser can load it. */

export { AgentTool } from './agents.ts';
export { ALERT_KINDS, ALERT_STATUSES, Alert, ApprovalCall } from './alerts.ts';
export { BACKTEST_STATUSES, Backtest, BacktestDraft, BacktestExample } from './backtests.ts';
export {
  BREAKER_LIMIT_SCOPES,
  BREAKER_SCOPES,
  BreakerChanged,
  BreakerLimits,
  BreakerLimitsDraft,
  BreakerLimitsPatch,
  BreakerState,
} from './breakers.ts';
export { BUDGET_SCOPES, Budget, BudgetBalance, BudgetDraft, BudgetPatch, BudgetPot } from './budgets.ts';
export { canonicalJson } from './canonical-form.ts';
export { CHANGE_KINDS, CHANGE_TARGETS } from './changes.ts';
export {
  CHANNEL_KINDS,
  ChannelConfig,
  type ChannelConfigOf,
  ChannelDraft,
  ChannelId,
  type ChannelKind,
  ChannelView,
  MAX_CHANNELS,
} from './channels.ts';
export { CONTROL_SCOPES, ControlOrder, Directive, RearmedRule } from './control.ts';
export {
  ASK_REASONS,
  DECISION_EFFECTS,
  DECISION_PHASES,
  DECISION_REASONS,
  DecidedBy,
  Decision,
  DecisionEffect,
  DecisionReason,
  LabelName,
  RuleBypass,
  RuleFinding,
  StandingLabel,
  TreeLimits,
  TreeLimitsDraft,
} from './decisions.ts';
export { DeliveryExchange } from './delivery-exchange.ts';
export {
  AcknowledgeBody,
  AgentBody,
  EndBody,
  EvaluateBody,
  HeartbeatBody,
  StartBody,
  ToolsBody,
} from './dialects/handlebar/requests.ts';
export { CostSource, EventKind, JsonObject, SEVERITIES, Severity } from './events.ts';
export { ClientId, displayName, Instant, PLATFORM_TENANT, TenantId } from './ids.ts';
export {
  CONNECTION_DIALECTS,
  ConnectionName,
  MAX_MODEL_CONNECTIONS,
  ModelConnectionDraft,
} from './model-connections.ts';
export { RulesChanged } from './notices.ts';
export {
  type AccessWay,
  AgentPattern,
  AppliedPolicy,
  ApprovalPolicy,
  ApprovalVote,
  ApprovalVotes,
  ClaimRequirement,
  findScopes,
  IdentityProviderDraft,
  MAX_APPROVAL_POLICIES,
  MAX_DEPUTIES,
  MAX_DEPUTY_DAYS,
  MAX_MAPPING_LINES,
  MappingLine,
  PERSON_SCOPES,
  ROLES,
  Role,
  RoleGrant,
  SEPARATIONS,
  StoredPolicy,
  TeamId,
  VoterRef,
  WAYS,
  Way,
} from './people.ts';
export { MAX_PRICE_OVERRIDES, PriceOverride, PriceOverrideDraft, PriceRates } from './price-overrides.ts';
export { UNPRICED_REASONS } from './prices.ts';
export { Problem } from './problems.ts';
export { MAX_REPRICE_DAYS, Reprice, RepriceDraft, RepricedModel } from './reprices.ts';
export {
  ALERT_LABELS,
  type AlertLabel,
  type AlertLabels,
  AlertNotice,
  AlertNotices,
  MAX_ACTIVE_SILENCES,
  MAX_SILENCE_DAYS,
  MuteWindow,
  NOTICE_REASONS,
  NOTICE_STATUSES,
  parseDuration,
  Route,
  RoutingAnswer,
  RoutingDocument,
  RoutingProblem,
  Silence,
  SilenceDraft,
  StoredRouting,
  Suppression,
} from './routing.ts';
export { FieldChange, GuardrailRule, Promotion, RULE_CHANGE_SOURCES, RuleDraft } from './rules.ts';
export { RuleDrift, RuleKey, RulesetApply, RulesetDraft, RulesetPlan } from './rulesets.ts';
export { MAX_SAVED_VIEWS, SavedViewDraft, VIEW_PAGES } from './saved-views.ts';
export { SCOPES, type Scope, TENANT_SCOPES } from './scopes.ts';
export { DECISION_PATHS } from './tenant-book.ts';
export { DAY_MS, HOUR_MS } from './times.ts';
export { ACTION_RESULTS, COMPARISON_WORDS, DELIVERY_RESULTS, DeliverySettled } from './triggers.ts';
export {
  HttpAddress,
  NewWebhookEndpoint,
  WEBHOOK_EVENTS,
  WebhookDraft,
  WebhookEndpoint,
  WebhookPatch,
} from './webhooks.ts';
export {
  MAX_ON_CALL_OVERRIDE_DAYS,
  MAX_ON_CALL_OVERRIDES,
  MAX_ON_CALL_SCHEDULES,
  OnCallId,
  OnCallLayer,
  OnCallOverride,
  OnCallSchedule,
} from './on-call.ts';
