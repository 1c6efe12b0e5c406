export { ACTIONS, decidesCalls, isMasked, mapActionSecrets, maskSecret } from './actions/index.ts';
export { postWebhook, signWebhook, webhookKey } from './actions/notify-webhook/post-webhook.ts';
export {
  type Breaker,
  type CallUsage,
  CLOSED_BREAKER,
  check as checkBreaker,
  confidenceFall,
  DEFAULT_BREAKER_LIMITS,
  joinTrees,
  LIMIT_OF_REASON,
  type NextCall,
  NO_BREAKER_LIMITS,
  overLimit,
  type RunLine,
  record as recordUsage,
  trip as tripBreaker,
  usageOfEvent,
  usageOfQuestion,
} from './breaker/index.ts';
export { payingScope, type Spender, spenderOf } from './budgets/scope-of-budget.ts';
export type {
  ActionDependencies,
  ActionEffect,
  ActionModule,
  ActionOutcome,
  ActionRequest,
  ActionResponse,
  AlertOrder,
  AlertRaised,
  Alerts,
  DecisionAction,
  DirectiveOrder,
  Directives,
  ExecutedAction,
} from './catalog/action-module.ts';
export { Catalog, jsonSchemaOf } from './catalog/catalog.ts';
export type {
  CallCondition,
  CallTest,
  ConditionModule,
  DataFlow,
  EventCondition,
  EventFeed,
  Phase,
  TickCondition,
} from './catalog/condition-module.ts';
export { meets, OPERATORS, type Operator, type Threshold, withoutNoise } from './catalog/threshold.ts';
export { CONDITIONS } from './conditions/index.ts';
export { CallFactsStore } from './decisions/call-facts-store.ts';
export { type CallIdentity, identityOf } from './decisions/call-identity.ts';
export { type Ask, decide, type Ruling } from './decisions/decide.ts';
export { DecisionBook } from './decisions/decision-book.ts';
export { byPriority, type DecisionRule } from './decisions/decision-rule.ts';
export type { AgentFacts, DecisionFacts, FactNeeds, LabelFact, Unavailable, WantedLabel } from './decisions/facts.ts';
export { factsNeeded } from './decisions/facts-needed.ts';
export {
  type GatewayKnowledge,
  type KnownBook,
  type LocalAnswer,
  locally,
  MUST_ASK,
} from './decisions/locally.ts';
export { standingOf } from './decisions/rule-verdict.ts';
export { isStateless, selectsAgent } from './decisions/selectors.ts';
export { CALL_STEPS, callAllowance, FREE_STEPS, RULE_STEPS, type StepAllowance } from './decisions/step-meter.ts';
export { redactDeep, redactJson } from './detectors/redact-values.ts';
export type { StopCounts, StopReason } from './evaluation/fold.ts';
export { type Folding, fold, type Reading, type RuleCandidate } from './evaluation/fold.ts';
export { type DegradedRule, type EvaluationPlan, type Indexed, planAgent, planBatch } from './evaluation/plan.ts';
export { claimOf, minuteOf, tick } from './evaluation/triggers.ts';
export {
  type Candidates,
  candidatesOf,
  type Fingerprints,
  fingerprintsOf,
  type PrintPlace,
} from './flow/fingerprints.ts';
export { oncePer } from './once-per.ts';
export { readPolicy } from './policies/read-policy.ts';
export type {
  AskedUsage,
  BreakerAnswers,
  BreakerChange,
  BreakerQuestion,
  BreakerRef,
  BreakerStore,
  EventMark,
  StoredBreaker,
} from './ports/breaker-store.ts';
export type {
  AccountBalance,
  BudgetAccount,
  BudgetStore,
  ChargedAccount,
  LedgerEntry,
  ReserveAnswer,
  ReserveRequest,
  SeededAccount,
  SpendAnswer,
  Spending,
  TreeLink,
} from './ports/budget-store.ts';
export type {
  CalledRun,
  CalledScope,
  CallHistory,
  CompletedCall,
  EnteredCall,
  PastCall,
  WiderScope,
} from './ports/call-history.ts';
export {
  type CooldownClaim,
  type CooldownHolder,
  type CooldownStore,
  cooling,
  type Rearming,
} from './ports/cooldown-store.ts';
export {
  type EvidenceNote,
  firstCause,
  type IncompleteLabels,
  isSessionLine,
  type LabelCause,
  type LabelledLine,
  type LabelStore,
  labelledSession,
  type RunLabels,
  rootOf,
  type SharedPrints,
  type StoredLabel,
} from './ports/label-store.ts';
export type {
  AdvanceAnswer,
  AdvanceRequest,
  Completeness,
  Increment,
  Series,
  SeriesShape,
  Totals,
  WindowMarker,
  WindowSpan,
  WindowStore,
} from './ports/window-store.ts';
export {
  type ActiveRule,
  activate,
  type EventRule,
  isInForce,
  isSuspended,
  passesUnasked,
  passesUnread,
  type TickRule,
} from './rules/active-rule.ts';
export { describeCatalog } from './rules/describe-catalog.ts';
export { guardOf, percent, type RuleFigures, ratesOf, unmetGuard } from './rules/promotion.ts';
export { type ActiveRollout, bucketOf, isInRollout, placeInRollout } from './rules/rollout.ts';
export { RuleBook } from './rules/rule-book.ts';
export { changesMeaning, ruleChanges } from './rules/rule-changes.ts';
export { patternPath } from './rules/user-patterns.ts';
export { draftOf, type ValidatedRule, type ValidDraft, validateDraft, validatePatch } from './rules/validate-rule.ts';
export { force, planRuleset, type WantedRule } from './rulesets/plan-ruleset.ts';
export { BUILT_IN_METRICS, quantityOf } from './windows/metrics.ts';
export { type Bin, type Bins, binOf, binsOf, greatestBins, quantileOf } from './windows/sketch.ts';
export { seriesKey, spanStart, spans } from './windows/span.ts';
export { NO_TOTALS, withValue } from './windows/totals.ts';
export { ASK_WORDS, askAdvice } from './words/ask-words.ts';
export { changedName, changeWords, noticeWords, type WordedChange } from './words/change-words.ts';
export { defaultOnUnavailable } from './words/on-unavailable.ts';
