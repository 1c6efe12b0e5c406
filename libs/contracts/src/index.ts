export { sha256Hex } from '#sha256';
export { AgentRegistration, AgentTool, REGISTRY_RUN_ID } from './agents.ts';
export { ALERT_KINDS, ALERT_STATUSES, Alert, ApprovalBinding, ApprovalCall, EndedCall } from './alerts.ts';
export {
  BACKTEST_STATUSES,
  Backtest,
  BacktestDraft,
  BacktestExample,
  BacktestProgress,
  BacktestResult,
} from './backtests.ts';
export { parseBatch, utf8Text } from './batch-pieces.ts';
export {
  BREAKER_LIMIT_SCOPES,
  BREAKER_REASONS,
  BREAKER_SCOPES,
  BreakerChanged,
  type BreakerLimitScope,
  BreakerLimits,
  BreakerLimitsDraft,
  BreakerLimitsPatch,
  BreakerReason,
  type BreakerScope,
  BreakerState,
  StoredBreakerLimits,
} from './breakers.ts';
export {
  BUDGET_PERIODS,
  BUDGET_SCOPES,
  Budget,
  BudgetBalance,
  BudgetDraft,
  BudgetPatch,
  BudgetPot,
  type BudgetReached,
  periodStart,
} from './budgets.ts';
export { BUS_ACCESS, type BusAccess } from './bus-access.ts';
export { canonicalForm, canonicalJson, type HashedFields } from './canonical-form.ts';
export {
  type AuditedChange,
  type AuditRecord,
  CHANGE_KINDS,
  CHANGE_TARGETS,
  ChangeAuthor,
  type ChangeKind,
  PersonName,
  signatureOf,
  targetOf,
} from './changes.ts';
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
export { answerOf, COMMANDS, type Command, type QuestionOf } from './commands.ts';
export {
  CONTROL_SCOPES,
  ControlOrder,
  ControlScope,
  Directive,
  DirectiveAcknowledged,
  RearmedRule,
} from './control.ts';
export { DeadLetter } from './dead-letters.ts';
export {
  Actor,
  AGENT_PHASES,
  type AgentPhase,
  ASK_REASONS,
  AskedBecause,
  type AskReason,
  contentHash,
  DECISION_EFFECTS,
  DECISION_PHASES,
  DECISION_REASONS,
  DecidedBy,
  Decision,
  DecisionCause,
  DecisionEffect,
  DecisionPhase,
  DecisionReason,
  DecisionRequest,
  FLOW_GRADES,
  type FlowGrade,
  hasHappened,
  LabelName,
  MAX_ANCESTORS,
  NO_TREE_LIMITS,
  OverTreeLimit,
  RuleBypass,
  RuleFinding,
  recordedToolName,
  StandingLabel,
  Subject,
  TOOL_NAME_CHARS,
  TreeLimits,
  UnreadContent,
} from './decisions.ts';
export { DeliveryExchange, MAX_ANSWERED_BODY_BYTES, MAX_SENT_BODY_BYTES } from './delivery-exchange.ts';
export { EVENT_TYPE_NAMES, type EventTypeName, SERVER_ONLY_TYPES } from './dialects/agentlens/event-types.ts';
export { type TranslatedEvent, type Translation, translateAgentLensEvent } from './dialects/agentlens/translate.ts';
export {
  AGENTLENS_DIALECT,
  HANDLEBAR_DIALECT,
  OTLP_DIALECT,
  REPORTS_ENDED_CALLS,
} from './dialects/dialect-names.ts';
export { AUDIT_KIND_NAMES, AUDIT_KINDS, AUDIT_SCHEMA } from './dialects/handlebar/audit-envelope.ts';
export {
  type DecisionBody,
  type DecisionExtras,
  decisionBody,
  decisionBodyWithExtras,
} from './dialects/handlebar/decision-body.ts';
export { readPlainQuestion } from './dialects/handlebar/plain-question.ts';
export {
  AcknowledgeBody,
  AgentBody,
  END_STATUSES,
  EndBody,
  EvaluateBody,
  HeartbeatBody,
  StartBody,
  ToolsBody,
  UNKNOWN_AGENT_ID,
} from './dialects/handlebar/requests.ts';
export { agentRegistered, runEnded, runStarted } from './dialects/handlebar/run-moments.ts';
export { cleanName, NAME_CHARS, RepairedId, repairId } from './dialects/handlebar/tolerant.ts';
export { translateHandlebarEvent } from './dialects/handlebar/translate.ts';
export { timeOfId } from './dialects/stable-ids.ts';
export {
  addDays,
  type EventBatchFacts,
  eventBatchFacts,
  eventBatchHeaders,
  factsOfBatch,
  factsOfMessage,
} from './event-batch-facts.ts';
export { batchBody, writeEvent } from './event-json.ts';
export {
  AgentEvent,
  CostSource,
  EVENT_KINDS,
  EventBatch,
  EventKind,
  JsonObject,
  RunOutcome,
  SEVERITIES,
  Severity,
  Usage,
} from './events.ts';
export { ClientId, displayName, Instant, PLATFORM_TENANT, TenantId } from './ids.ts';
export {
  type ConnectionDialect,
  ConnectionName,
  DEFAULT_FIRST_BYTE_SECONDS,
  MAX_MODEL_CONNECTIONS,
  ModelConnectionDraft,
  PROVIDER_ADDRESSES,
  TRIAL_PROVIDER,
} from './model-connections.ts';
export { nearestName, unknownName } from './nearest-name.ts';
export { derivedId, idSeries, inPosition, timeOrderedId } from './new-ids.ts';
export { normalUsage, type SentUsage } from './normal-usage.ts';
export { KeysChanged, KeyUsed, PricesChanged, RulesChanged, RunChanged, RunHeartbeats } from './notices.ts';
export {
  type AccessWay,
  AgentPattern,
  AppliedPolicy,
  ApprovalPolicy,
  ApprovalVote,
  ApprovalVotes,
  ClaimRequirement,
  findRolesWith,
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
export { BrokenJson, endOfText, hasAtMostUnits, type ParsedJson, parseInSteps, TooMuchJson } from './piecewise-json.ts';
export {
  MAX_PRICE_OVERRIDES,
  PriceOverride,
  PriceOverrideDraft,
  PriceRates,
} from './price-overrides.ts';
export {
  COST_TOLERANCE,
  type PriceBook,
  type PricedCall,
  pricedUsage,
  type Quote,
  recordQuote,
  UNPRICED_REASONS,
  type UnpricedReason,
} from './prices.ts';
export { detailsOf, otherVersion, Problem, ProblemDetail, plainMessage, unstorableText } from './problems.ts';
export { canonicalProvider } from './provider-names.ts';
export {
  MAX_REPRICE_DAYS,
  REPRICE_NOTES,
  Reprice,
  RepriceDraft,
  RepricedModel,
} from './reprices.ts';
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
export { BUNDLE_KEY_LABEL, BundledRule, RuleBundle } from './rule-bundles.ts';
export {
  FieldChange,
  GuardrailRule,
  Promotion,
  PromotionGuard,
  ROLLOUT_UNITS,
  RollbackBounds,
  Rollout,
  type RolloutUnit,
  RULE_CHANGE_SOURCES,
  RuleChangeAuthor,
  type RuleChangeSource,
  RuleDraft,
  RuleSelector,
  Suspension,
} from './rules.ts';
export {
  RuleDrift,
  RuleKey,
  RulesetApply,
  RulesetBasis,
  RulesetChange,
  RulesetDraft,
  RulesetPlan,
} from './rulesets.ts';
export { MAX_SAVED_VIEWS, SavedViewDraft, type ViewPage } from './saved-views.ts';
export { mayDo, SCOPES, type Scope, TENANT_SCOPES } from './scopes.ts';
export { partitionOf, subjectToken } from './subjects.ts';
export { BreakersDue, DECISION_PATHS, type DecisionPath, TenantBook, TenantBookAnswer } from './tenant-book.ts';
export { DAY_MS, HOUR_MS, MINUTE_MS } from './times.ts';
export {
  agentEvents,
  alertChanged,
  breakerChanged,
  breakersDue,
  type CloudEventAttributes,
  CONSUMERS,
  controlOrdered,
  deadLetters,
  decisionDecided,
  deliverySettled,
  directiveAcknowledged,
  directiveIssued,
  GROUPS,
  guardrailTriggered,
  keysChanged,
  keyUsed,
  pricesChanged,
  rulesChanged,
  runChanged,
  runHeartbeats,
  STREAMS,
  type StreamName,
  type StreamSpec,
  subjectOfEvents,
  TOPICS,
  type Topic,
  tenantOfEvents,
  tenantOfLetter,
} from './topics.ts';
export {
  ACTION_RESULTS,
  ActionResult,
  COMPARISON_WORDS,
  Comparison,
  DELIVERY_RESULTS,
  DeliverySettled,
  Trigger,
} from './triggers.ts';
export {
  dayBefore,
  isTimeZone,
  minuteOfDay,
  readLocalMinutes,
  readWallClock,
  type WallClock,
  WEEKDAYS,
} from './wall-clock.ts';
export {
  HttpAddress,
  NewWebhookEndpoint,
  ONLY_SLACK,
  takesFormat,
  WEBHOOK_EVENTS,
  WebhookDraft,
  WebhookEndpoint,
  WebhookEvent,
  WebhookFormat,
  WebhookPatch,
} from './webhooks.ts';
export { type EventFacts, readWrittenBatch } from './written-batch.ts';
export {
  MAX_ON_CALL_OVERRIDE_DAYS,
  MAX_ON_CALL_OVERRIDES,
  MAX_ON_CALL_SCHEDULES,
  OnCallId,
  OnCallLayer,
  OnCallOverride,
  OnCallSchedule,
} from './on-call.ts';
