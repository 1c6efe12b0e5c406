import { z } from 'zod';
import { ApprovalPolicy, ApprovalVotes, StoredPolicy, VoterRef } from './people.ts';
import { Alert, ApprovalBinding, ApprovalCall, EndedCall } from './alerts.ts';
import { ChannelDraft, ChannelId, ChannelView } from './channels.ts';
import { Backtest } from './backtests.ts';
import { BREAKER_LIMIT_SCOPES, BREAKER_SCOPES, StoredBreakerLimits } from './breakers.ts';
import { Budget, BudgetBalance } from './budgets.ts';
import { ChangeAuthor } from './changes.ts';
import { ControlOrder, ControlScope, RearmedRule } from './control.ts';
import { Decision, DecisionRequest, LabelName, MAX_ANCESTORS, StandingLabel } from './decisions.ts';
import { ClientId, Instant, TenantId } from './ids.ts';
import { Problem } from './problems.ts';
import { Reprice } from './reprices.ts';
import { RoutingDocument, Silence, SilenceDraft, StoredRouting } from './routing.ts';
import { RuleBundle } from './rule-bundles.ts';
import { GuardrailRule, Promotion, RuleChangeAuthor, Suspension } from './rules.ts';
import { RulesetPlan } from './rulesets.ts';
import { TenantBookAnswer } from './tenant-book.ts';
import { NewWebhookEndpoint, WebhookDraft, WebhookEndpoint, WebhookPatch } from './webhooks.ts';

/** Request to the one service that owns the answer, over core request/reply. */
export interface Command<Q, A> {
  readonly subject: string;
  readonly request: z.ZodType<Q>;
  readonly answer: z.ZodType<A>;
  /** Time in ms after which the caller reports the owner as unavailable. */
  readonly deadlineMs: number;
}

/** Request type of a command of the catalog: `QuestionOf<typeof COMMANDS.decide>`. */
export type QuestionOf<C extends { readonly request: z.ZodType }> = z.output<C['request']>;

/** Rejections are values: the owner describes the problem, and the edge turns it into an HTTP response. */
export function answerOf<T extends z.ZodType>(value: T) {
  return z.discriminatedUnion('ok', [
    z.object({ ok: z.literal(true), value }),
    z.object({ ok: z.literal(false), problem: Problem }),
  ]);
}

function command<Q extends z.ZodType, A extends z.ZodType>(subject: string, request: Q, answer: A, deadlineMs = 5_000) {
  return { subject, request, answer: answerOf(answer), deadlineMs } as const;
}

/** An alert to be raised. */
const RaisedAlert = Alert.pick({
  tenantId: true,
  kind: true,
  severity: true,
  title: true,
  message: true,
  agentId: true,
  runId: true,
  ruleId: true,
}).extend({
  /** Distinguishes alerts about the same agent. With `at`, it is raised once for the tenant, even if it was closed. */
  about: z.string().max(500).optional(),
  at: Instant.optional(),
});

const newRules = RuleChangeAuthor.extend({ tenantId: TenantId, body: z.unknown() });

/** Something that is unlike before. `about` names it; with `at`, it is raised once, even if it was closed since. */
const ReportedChange = RaisedAlert.omit({ tenantId: true, kind: true }).required({ about: true, at: true });

/** The change is rejected with 412 unless its target has this version; 0 requires that the target does not exist. */
const conditional = { ifVersion: z.int().optional() };

const changedRule = RuleChangeAuthor.extend({
  ...conditional,
  tenantId: TenantId,
  ruleId: z.string(),
  /** Reason for changing a rule that belongs to a ruleset. Without it such a change is rejected. */
  override: z.string().min(1).max(1000).optional(),
});

/** Author of the change, for the audit log. Optional, because replicas of an older version do not send it. */
const authored = { author: ChangeAuthor.optional() };
const ofRuleset = RuleChangeAuthor.extend({ tenantId: TenantId, ruleset: z.string() });
/** Allows for validating and writing thousands of rules. */
const RULESET_DEADLINE_MS = 20_000;

const webhookRef = z.object({ ...authored, ...conditional, tenantId: TenantId, webhookId: z.string() });

const channelRef = z.object({ ...authored, ...conditional, tenantId: TenantId, channelId: ChannelId });

const limitsRef = z.object({
  ...{ ...authored, ...conditional, tenantId: TenantId },
  scope: z.enum(BREAKER_LIMIT_SCOPES),
  scopeId: ClientId,
});

const LabelledRuns = z
  .array(ClientId)
  .min(1)
  .max(MAX_ANCESTORS + 1);

export const COMMANDS = {
  /** `body` is the HTTP client's request body. The owner validates it, so that every entry point validates alike. */
  createRule: command('guardrail.rules.create', newRules, GuardrailRule),
  updateRule: command('guardrail.rules.update', changedRule.extend({ body: z.unknown() }), GuardrailRule),
  deleteRule: command('guardrail.rules.delete', changedRule, z.object({ ok: z.literal(true) })),
  /** Creates a new version with the contents of an earlier one. */
  revertRule: command('guardrail.rules.revert', changedRule.extend({ version: z.int().min(1) }), GuardrailRule),
  /** Changes the mode of a rule. 409 lists what its guard still requires. */
  promoteRule: command('guardrail.rules.promote', changedRule.extend({ promotion: Promotion }), GuardrailRule),
  /** Suspends any rule until an instant; null ends its suspension. */
  suspendRule: command(
    'guardrail.rules.suspend',
    changedRule.extend({ suspended: Suspension.nullable() }),
    GuardrailRule,
  ),
  /** Queues a backtest. 429 if the tenant has too many. */
  createBacktest: command(
    'backtests.create',
    z.object({ tenantId: TenantId, body: z.unknown(), by: z.string().max(500).optional() }),
    Backtest,
  ),
  /** What was found so far is kept. Cancelling again gives the same answer. */
  cancelBacktest: command('backtests.cancel', z.object({ tenantId: TenantId, backtestId: z.string() }), Backtest),
  /** Plans what applying a ruleset would change, without changing anything. */
  planRuleset: command(
    'guardrail.rulesets.plan',
    ofRuleset.extend({ body: z.unknown() }),
    RulesetPlan,
    RULESET_DEADLINE_MS,
  ),
  /** Applies a ruleset atomically; returns what was done. */
  applyRuleset: command(
    'guardrail.rulesets.apply',
    ofRuleset.extend({ body: z.unknown() }),
    RulesetPlan,
    RULESET_DEADLINE_MS,
  ),
  /** Keeps the ruleset's rules and makes them unowned. */
  releaseRuleset: command(
    'guardrail.rulesets.release',
    ofRuleset,
    z.object({ released: z.int() }),
    RULESET_DEADLINE_MS,
  ),
  /** The labels that stand for a run and its session. `runIds` are the run and its ancestors, nearest first. */
  readLabels: command(
    'guardrail.labels.read',
    z.object({ tenantId: TenantId, runIds: LabelledRuns, sessionId: ClientId.optional() }),
    z.object({ labels: z.array(StandingLabel) }),
    2_000,
  ),
  /** Clears a label for a person, of the run tree and of the session. 404 if it does not stand. */
  clearLabel: command(
    'guardrail.labels.clear',
    z.object({
      ...{ ...authored, tenantId: TenantId, runIds: LabelledRuns, label: LabelName },
      sessionId: ClientId.optional(),
      reason: z.string().min(1).max(1000),
    }),
    z.object({ ok: z.literal(true) }),
  ),
  /**
   * Clears the pause and, if requested, the model override, and ends the cooldowns of the rules that pause. 409 while
   * an operator's order is in force. Returns the directive now in force and the rules that were cooling down.
   */
  unpauseAgent: command(
    'agent.control.unpause',
    z.object({ ...authored, tenantId: TenantId, agentId: ClientId, clearModelOverride: z.boolean() }),
    z.looseObject({ rearmed: z.array(RearmedRule).default([]) }),
  ),
  /** Ends the cooldowns of rules for an agent: triggers at `at` or later are accepted, earlier ones are not. */
  rearmRules: command(
    'guardrail.rules.rearm',
    z.object({ tenantId: TenantId, agentId: ClientId, ruleIds: z.array(z.string()).min(1), at: Instant }),
    z.object({ ok: z.literal(true) }),
    1_000,
  ),
  redeliver: command(
    'action.deliveries.redeliver',
    z.object({ ...authored, tenantId: TenantId, deliveryId: z.string() }),
    z.object({ deliveryId: z.string() }),
  ),
  /** Decides a call. Always answers with a decision; only malformed requests are rejected. */
  decide: command('guardrail.decide', DecisionRequest, Decision, 2_000),
  /** Imports a policy with rules in the Handlebar SDK's format; stores them as ordinary rules. */
  importPolicy: command(
    'guardrail.rules.import',
    newRules,
    z.object({ policyId: z.string(), rules: z.array(GuardrailRule) }),
  ),
  /** Returns the rules of one agent that its own process may evaluate; 404 if the tenant does not offer them. */
  ruleBundle: command('guardrail.rules.bundle', z.object({ tenantId: TenantId, agentId: ClientId }), RuleBundle, 1_000),
  /**
   * Returns what a gateway needs to decide calls of a tenant. `haveVersion` avoids sending a known book again; `reread`
   * reads everything from the database first.
   */
  tenantBook: command(
    'guardrail.book',
    z.object({
      tenantId: TenantId,
      haveVersion: z.string().optional(),
      reread: z.boolean().optional(),
      /** Version of the announced change. What the evaluator has read since it received the announcement suffices. */
      announced: z.string().optional(),
    }),
    TenantBookAnswer,
    2_000,
  ),
  setBreakerLimits: command('guardrail.breakers.limits', limitsRef.extend({ body: z.unknown() }), StoredBreakerLimits),
  /** Changes only the limits that are sent. 404 if none are set there. */
  patchBreakerLimits: command(
    'guardrail.breakers.limits.patch',
    limitsRef.extend({ body: z.unknown() }),
    StoredBreakerLimits,
  ),
  /** The next broader limits then apply. 404 if none are set there. */
  deleteBreakerLimits: command('guardrail.breakers.limits.delete', limitsRef, z.object({ ok: z.literal(true) })),
  resetBreaker: command(
    'guardrail.breakers.reset',
    z.object({ ...authored, tenantId: TenantId, scope: z.enum(BREAKER_SCOPES), scopeId: ClientId, by: z.string() }),
    z.object({ ok: z.literal(true) }),
  ),
  createBudget: command(
    'guardrail.budgets.create',
    z.object({ ...authored, tenantId: TenantId, body: z.unknown() }),
    Budget,
  ),
  /** Does not change what was spent. */
  updateBudget: command(
    'guardrail.budgets.update',
    z.object({ ...authored, ...conditional, tenantId: TenantId, budgetId: z.string(), body: z.unknown() }),
    Budget,
  ),
  deleteBudget: command(
    'guardrail.budgets.delete',
    z.object({ ...authored, ...conditional, tenantId: TenantId, budgetId: z.string() }),
    z.object({ ok: z.literal(true) }),
  ),
  /** Returns the current balance of a budget; a single account if `scopeId` is given or the budget has one. */
  budgetStanding: command(
    'guardrail.budgets.standing',
    z.object({ tenantId: TenantId, budgetId: z.string(), scopeId: ClientId.optional() }),
    BudgetBalance,
  ),
  /** Settles a decision's reservation with the actual cost; `costUsd` 0 releases it. */
  settleReservation: command(
    'guardrail.budgets.settle',
    z.object({ tenantId: TenantId, reservationId: z.string(), costUsd: z.number().nonnegative() }),
    z.object({ ok: z.literal(true) }),
  ),
  /** Finds the approval of exactly this call. Uses it if it is approved, creates it if there is none. */
  resolveApproval: command(
    'action.approvals.resolve',
    z.object({
      tenantId: TenantId,
      agentId: ClientId,
      binding: ApprovalBinding,
      /** Id of the request, if it has one: the same on every retry. */
      requestId: ClientId.optional(),
      askedBy: z.string().optional(),
      title: z.string(),
      message: z.string(),
      /** Absent if an evaluator of an earlier version sends the command. */
      call: ApprovalCall.optional(),
      expiresInSeconds: z.int().min(1),
      /** If false or absent, a call equal to one that a person denied in this run is denied again. */
      asksAgain: z.boolean().optional(),
    }),
    Alert,
    1_000,
  ),
  /** Reports that results of calls arrived: the approvals they used become invalid for further requests. */
  spendApprovals: command(
    'action.approvals.spend',
    z.object({ tenantId: TenantId, calls: z.array(EndedCall) }),
    z.object({ spent: z.int().nonnegative() }),
    1_000,
  ),
  /** Deduplicated by kind, rule, agent, run and `about` while one is pending, and rate limited. Returns the alert in force. */
  raiseAlert: command('action.alerts.raise', RaisedAlert, Alert),
  /** Everything of a tenant that is unlike before: raises an alert for what is new, and ends those of what no longer is. */
  reportChanges: command(
    'action.alerts.changes',
    z.object({
      tenantId: TenantId,
      asOf: Instant.meta({ description: 'When it was read. Alerts raised shortly before, or later, are not ended.' }),
      changes: z.array(ReportedChange).max(50),
    }),
    z.object({ ended: z.int() }),
  ),
  decideAlert: command(
    'action.alerts.decide',
    z.object({
      ...{ ...authored, ...conditional, tenantId: TenantId },
      alertId: z.string(),
      verb: z.enum(['acknowledge', 'approve', 'deny', 'cancel']),
      by: z.string(),
      reason: z.string().max(1000).optional(),
      /** Absent if a query service of an earlier version asks: a key of a program. */
      voter: VoterRef.optional(),
      /** `argsHash` of the call that was shown. */
      callHash: z.string().optional(),
    }),
    Alert,
  ),
  /** Votes of an approval, and whether this voter may vote: judged by the function that decides. */
  readVotes: command(
    'action.approvals.votes',
    z.object({ tenantId: TenantId, alertId: z.string(), voter: VoterRef }),
    ApprovalVotes,
  ),
  setApprovalPolicy: command(
    'action.policies.set',
    z.object({
      ...{ ...authored, ...conditional, tenantId: TenantId },
      policyId: z.string(),
      place: z.int().optional(),
      policy: ApprovalPolicy,
    }),
    StoredPolicy,
  ),
  deleteApprovalPolicy: command(
    'action.policies.delete',
    z.object({ ...{ ...authored, ...conditional, tenantId: TenantId }, policyId: z.string() }),
    z.object({ id: z.string(), deleted: z.literal(true) }),
  ),
  orderControl: command(
    'action.control.order',
    z.object({
      ...{ ...authored, ...conditional, tenantId: TenantId },
      scope: ControlScope,
      scopeId: ClientId,
      agentId: ClientId.optional(),
      state: z.enum(['running', 'paused', 'killed']),
      reason: z.string().max(1000),
      by: z.string(),
    }),
    ControlOrder,
  ),
  /**
   * Deletes a run with its events and decisions, and has the dispatcher delete its part. 404 if the run does not exist.
   */
  deleteRun: command(
    'runs.delete',
    z.object({ ...authored, tenantId: TenantId, runId: ClientId, reason: z.string().max(1000).optional() }),
    z.object({ id: z.string(), deletedAt: Instant, complete: z.boolean() }),
    8_000,
  ),
  /** Removes the triggers, alerts, sealed calls and deliveries of runs. Idempotent. */
  deleteRunActions: command(
    'action.runs.delete',
    z.object({ tenantId: TenantId, runIds: z.array(ClientId).min(1).max(500) }),
    z.object({ ok: z.literal(true) }),
  ),
  /** Starts erasing the contents of an actor's runs. Returns the running erasure if there is one. */
  eraseActor: command(
    'runs.erase',
    z.object({ ...authored, tenantId: TenantId, actorId: ClientId }),
    z.object({ id: z.string(), requestedAt: Instant }),
  ),
  /** Starts recalculating costs in the background. 409 while a reprice of the tenant is running. */
  startReprice: command('runs.reprice', z.object({ ...authored, tenantId: TenantId, body: z.unknown() }), Reprice),
  /** Erases the contents of triggers, alerts and deliveries of runs, and their sealed calls. Idempotent. */
  eraseRunActions: command(
    'action.runs.erase',
    z.object({ tenantId: TenantId, runIds: z.array(ClientId).min(1).max(500) }),
    z.object({ ok: z.literal(true) }),
  ),
  createWebhook: command(
    'action.webhooks.create',
    z.object({ ...authored, tenantId: TenantId, draft: WebhookDraft }),
    NewWebhookEndpoint,
  ),
  updateWebhook: command('action.webhooks.update', webhookRef.extend({ patch: WebhookPatch }), WebhookEndpoint),
  deleteWebhook: command('action.webhooks.delete', webhookRef, z.object({ ok: z.literal(true) })),
  /** Creates a new signing secret. Deliveries already queued are still signed with the previous one. */
  rotateWebhookSecret: command('action.webhooks.rotate', webhookRef, NewWebhookEndpoint),
  testWebhook: command('action.webhooks.test', webhookRef, z.object({ deliveryId: z.string() })),
  /** Creates or replaces a channel. */
  setChannel: command('action.channels.set', channelRef.extend({ draft: ChannelDraft }), ChannelView),
  /** 409 while a route or another channel names it. */
  deleteChannel: command('action.channels.delete', channelRef, z.object({ id: z.string(), deleted: z.literal(true) })),
  /** Queues a test notice, one for each recipient. */
  testChannel: command('action.channels.test', channelRef, z.object({ deliveryIds: z.array(z.string()) })),
  setRoutes: command(
    'action.routes.set',
    z.object({ ...authored, ...conditional, tenantId: TenantId, document: RoutingDocument, by: z.string().max(500) }),
    StoredRouting,
  ),
  createSilence: command(
    'action.silences.create',
    z.object({ ...authored, tenantId: TenantId, draft: SilenceDraft, by: z.string().max(500) }),
    Silence,
  ),
  /** A request of Slack, as it arrived. 401 if it is not signed. Slack waits three seconds, on a busy machine as well. */
  takeSlackClick: command(
    'action.slack.click',
    z.object({
      ...{ tenantId: TenantId, channelId: z.string() },
      ...{ timestamp: z.string(), signature: z.string(), body: z.string() },
    }),
    z.object({ taken: z.boolean() }),
    2_000,
  ),
  linkChat: command(
    'action.chats.link',
    z.object({ tenantId: TenantId, token: z.string(), author: ChangeAuthor }),
    z.object({ workspace: z.string(), user: z.string() }),
  ),
  /** An ended silence never returns. */
  endSilence: command(
    'action.silences.end',
    z.object({ ...authored, tenantId: TenantId, silenceId: z.string() }),
    Silence,
  ),
} as const;
