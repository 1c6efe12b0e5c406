/** Response types of the API, inferred from its operations. Types only, so none of this is bundled. */
import type { OperationAnswer, OperationInput, Operations } from '../../../../libs/operations/src/index.ts';

type Answer<Id extends keyof Operations> = OperationAnswer<Operations[Id]>;

export type Run = Answer<'listRuns'>['runs'][number];
export type RunDetail = Answer<'getRun'>;
export type TreeRun = Answer<'getRunTree'>['runs'][number];
export type RunLabel = Answer<'getRunLabels'>['labels'][number];
export type RunFacets = Answer<'getRunFacets'>;
export type LightEntry = Answer<'getLightRunTimeline'>['entries'][number];
export type StoredEvent = Answer<'getEvent'>;
export type Decision = Answer<'listDecisions'>['decisions'][number];
export type DecisionPaths = Answer<'getDecisionPaths'>;
export type RuleFinding = Decision['evaluatedRules'][number];
export type Alert = Answer<'getAlert'>;
export type Agent = Answer<'getAgent'>;
export type AgentHealth = Answer<'getAgentHealth'>;
export type Rule = Answer<'getRule'>;
export type RuleStatus = Answer<'getRuleStatus'>;
export type RuleSummary = Answer<'listRuleSummaries'>['summaries'][number];
export type Catalog = Answer<'getRuleCatalog'>;
export type Delivery = Answer<'listDeliveries'>['deliveries'][number];
export type WholeDelivery = Answer<'getDelivery'>;
export type Breaker = Answer<'listBreakers'>['breakers'][number];
export type BreakerLimits = Answer<'getBreakerLimits'>;
export type BudgetStanding = Answer<'getBudget'>;
export type Budget = BudgetStanding['budget'];
export type OrderAnswer = Answer<'createOrder'>;
export type ApiKey = Answer<'listKeys'>['keys'][number];
export type NewKey = Answer<'createKey'>;
export type SavedView = Answer<'listSavedViews'>['views'][number];
export type Webhook = Answer<'listWebhooks'>['webhooks'][number];
export type NewWebhook = Answer<'createWebhook'>;
export type Channel = Answer<'getChannel'>;
export type Routing = Answer<'getRoutes'>;
export type ListedSilence = Answer<'listSilences'>['silences'][number];
export type AlertNotice = Answer<'getAlertNotices'>['notices'][number];
export type AuditEntry = Answer<'listAudit'>['entries'][number];
export type Me = Answer<'getMe'>;
export type Person = Answer<'listPeople'>['people'][number];
export type Team = Answer<'listTeams'>['teams'][number];
export type OnCallSchedule = Answer<'listOnCall'>['schedules'][number];
export type ModelConnection = Answer<'listModelConnections'>['connections'][number];
export type ModelCall = Answer<'listModelCalls'>['calls'][number];
export type PersonalKey = Answer<'listPersonalKeys'>['keys'][number];
export type Deputies = Answer<'listDeputies'>;
export type Deputyship = Deputies['deputies'][number];
export type NewPersonalKey = Answer<'createPersonalKey'>;
export type IdentityProvider = Answer<'listIdentityProviders'>['providers'][number];
export type StoredPolicy = Answer<'listApprovalPolicies'>['policies'][number];
export type ApprovalVotes = Answer<'getAlertVotes'>;
export type UnpricedModel = Answer<'getUnpricedUsage'>['models'][number];
export type RepriceAnswer = Answer<'getReprice'>;
export type ActivityBucket = Answer<'getActivity'>['buckets'][number];
export type Now = Answer<'getNow'>;

/** Request body of a rule. */
export type RuleBody = OperationInput<Operations['createRule']>['body'];
/** Request body of an identity provider. */
export type ProviderBody = OperationInput<Operations['createIdentityProvider']>['body'];
/** An approval policy as it is sent. */
export type PolicyDraft = OperationInput<Operations['setApprovalPolicy']>['body']['policy'];
/** Request body of an order. */
export type OrderBody = OperationInput<Operations['createOrder']>['body'];
/** Request body of a budget. */
export type BudgetBody = OperationInput<Operations['createBudget']>['body'];
/** Request body of a webhook. */
export type WebhookBody = OperationInput<Operations['createWebhook']>['body'];
