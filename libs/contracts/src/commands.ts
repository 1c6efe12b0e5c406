import { z } from 'zod';
import { Alert, ApprovalBinding, ApprovalCall, EndedCall } from './alerts.ts';
import { StoredBreakerLimits } from './breakers.ts';
import { Budget, BudgetBalance } from './budgets.ts';
import { ChangeAuthor } from './changes.ts';
import { ControlOrder, ControlScope } from './control.ts';
import { Decision, DecisionRequest } from './decisions.ts';
import { RearmedRule } from './directives.ts';
import { ClientId, Instant, TenantId } from './ids.ts';
import { Problem } from './problems.ts';
import { RuleBundle } from './rule-bundles.ts';
import { RuleChangeAuthor } from './rule-versions.ts';
import { GuardrailRule } from './rules.ts';
import { RulesetPlan } from './rulesets.ts';
import { NewWebhookEndpoint, WebhookDraft, WebhookEndpoint, WebhookPatch } from './webhooks.ts';

/** A question or order to the one service that owns the answer, over core request/reply. */
export interface Command<Q, A> {
  readonly subject: string;
  readonly request: z.ZodType<Q>;
  readonly answer: z.ZodType<A>;
  /** How long the caller waits before it reports the owner as unavailable, ms. */
  readonly deadlineMs: number;
}

/** The question of a command of the catalog: `QuestionOf<typeof COMMANDS.decide>`. */
export type QuestionOf<C extends { readonly request: z.ZodType }> = z.output<C['request']>;

/** Refusals are values: the owner says what is wrong, the edge turns it into an HTTP answer. */
export function answerOf<T extends z.ZodType>(value: T) {
  return z.discriminatedUnion('ok', [
    z.object({ ok: z.literal(true), value }),
    z.object({ ok: z.literal(false), problem: Problem }),
  ]);
}

function command<Q extends z.ZodType, A extends z.ZodType>(subject: string, request: Q, answer: A, deadlineMs = 5_000) {
  return { subject, request, answer: answerOf(answer), deadlineMs } as const;
}

const RaisedAlert = Alert.pick({
  tenantId: true,
  kind: true,
  severity: true,
  title: true,
  message: true,
  agentId: true,
  runId: true,
  ruleId: true,
});

const newRules = RuleChangeAuthor.extend({ tenantId: TenantId, body: z.unknown() });

/** The change is refused with 412 unless what it changes is at this version; 0: unless there is none yet. */
const conditional = { ifVersion: z.int().optional() };

const changedRule = RuleChangeAuthor.extend({
  ...conditional,
  tenantId: TenantId,
  ruleId: z.string(),
  /** Why a rule is changed that belongs to a ruleset; without it such a change is refused. */
  override: z.string().min(1).max(1000).optional(),
});

/** Who orders a change, for the audit. Optional, because replicas of an older version do not send it. */
const authored = { author: ChangeAuthor.optional() };
const ofRuleset = RuleChangeAuthor.extend({ tenantId: TenantId, ruleset: z.string() });
/** Thousands of rules are checked and written. */
const RULESET_DEADLINE_MS = 20_000;

const webhookRef = z.object({ ...authored, ...conditional, tenantId: TenantId, webhookId: z.string() });

const limitsRef = z.object({
  ...{ ...authored, ...conditional, tenantId: TenantId },
  scope: z.enum(['tenant', 'agent', 'run']),
  scopeId: ClientId,
});

export const COMMANDS = {
  /** `body` is what the HTTP client sent: the owner validates it, so that every way in validates alike. */
  createRule: command('guardrail.rules.create', newRules, GuardrailRule),
  updateRule: command('guardrail.rules.update', changedRule.extend({ body: z.unknown() }), GuardrailRule),
  deleteRule: command('guardrail.rules.delete', changedRule, z.object({ ok: z.literal(true) })),
  /** Makes a new version that says what an earlier one said. */
  revertRule: command('guardrail.rules.revert', changedRule.extend({ version: z.int().min(1) }), GuardrailRule),
  /** What applying a ruleset would change; changes nothing. */
  planRuleset: command(
    'guardrail.rulesets.plan',
    ofRuleset.extend({ body: z.unknown() }),
    RulesetPlan,
    RULESET_DEADLINE_MS,
  ),
  /** Everything of it or nothing; answers what was done. */
  applyRuleset: command(
    'guardrail.rulesets.apply',
    ofRuleset.extend({ body: z.unknown() }),
    RulesetPlan,
    RULESET_DEADLINE_MS,
  ),
  /** Its rules stay and belong to nobody. */
  releaseRuleset: command(
    'guardrail.rulesets.release',
    ofRuleset,
    z.object({ released: z.int() }),
    RULESET_DEADLINE_MS,
  ),
  /**
   * Clears the pause, and the model override where asked, and ends the cooldowns of the rules that pause. 409 while an
   * operator's order stands. Answers the directive now in force, and the rules that had been cooling down.
   */
  unpauseAgent: command(
    'agent.control.unpause',
    z.object({ ...authored, tenantId: TenantId, agentId: ClientId, clearModelOverride: z.boolean() }),
    z.looseObject({ rearmed: z.array(RearmedRule).default([]) }),
  ),
  /** Ends the cooldowns of rules for an agent: what fires at `at` or later triggers again, what fired before does not. */
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
  /** The synchronous question. Always answered with a decision; refusals are for requests that make no sense. */
  decide: command('guardrail.decide', DecisionRequest, Decision, 2_000),
  /** A policy with rules in the vocabulary of the agent SDK in the field; stored as ordinary rules. */
  importPolicy: command(
    'guardrail.rules.import',
    newRules,
    z.object({ policyId: z.string(), rules: z.array(GuardrailRule) }),
  ),
  /** The rules of one agent that its own process may evaluate; 404 where this tenant offers none. */
  ruleBundle: command('guardrail.rules.bundle', z.object({ tenantId: TenantId, agentId: ClientId }), RuleBundle, 1_000),
  setBreakerLimits: command('guardrail.breakers.limits', limitsRef.extend({ body: z.unknown() }), StoredBreakerLimits),
  /** What is not sent stays. 404 where none were set there. */
  patchBreakerLimits: command(
    'guardrail.breakers.limits.patch',
    limitsRef.extend({ body: z.unknown() }),
    StoredBreakerLimits,
  ),
  /** The nearest limits that are left apply. 404 where none were set there. */
  deleteBreakerLimits: command('guardrail.breakers.limits.delete', limitsRef, z.object({ ok: z.literal(true) })),
  resetBreaker: command(
    'guardrail.breakers.reset',
    z.object({ ...authored, tenantId: TenantId, scope: z.enum(['run', 'agent']), scopeId: ClientId, by: z.string() }),
    z.object({ ok: z.literal(true) }),
  ),
  createBudget: command(
    'guardrail.budgets.create',
    z.object({ ...authored, tenantId: TenantId, body: z.unknown() }),
    Budget,
  ),
  /** What was spent stays, whatever changes. */
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
  /** How a budget stands now; one pot where `scopeId` is given or the budget is of one scope id only. */
  budgetStanding: command(
    'guardrail.budgets.standing',
    z.object({ tenantId: TenantId, budgetId: z.string(), scopeId: ClientId.optional() }),
    BudgetBalance,
  ),
  /** Ends a reservation made by a decision with what the call really cost; `costUsd` 0 releases it. */
  settleReservation: command(
    'guardrail.budgets.settle',
    z.object({ tenantId: TenantId, reservationId: z.string(), costUsd: z.number().nonnegative() }),
    z.object({ ok: z.literal(true) }),
  ),
  /** Finds the approval of exactly this call, uses it if it is approved, opens it if there is none. */
  resolveApproval: command(
    'action.approvals.resolve',
    z.object({
      tenantId: TenantId,
      agentId: ClientId,
      binding: ApprovalBinding,
      /** Of the question, where it has one: the same on every retry. */
      requestId: ClientId.optional(),
      askedBy: z.string().optional(),
      title: z.string(),
      message: z.string(),
      /** Absent where an evaluator of an earlier version asks. */
      call: ApprovalCall.optional(),
      expiresInSeconds: z.int().min(1),
      /** False, or absent: an equal call that a person denied in this run is denied again. */
      asksAgain: z.boolean().optional(),
    }),
    Alert,
    1_000,
  ),
  /** The results of calls were reported: the approvals these used are good for no further question. */
  spendApprovals: command(
    'action.approvals.spend',
    z.object({ tenantId: TenantId, calls: z.array(EndedCall) }),
    z.object({ spent: z.int().nonnegative() }),
    1_000,
  ),
  /** Deduplicated by kind, rule, agent and run while one is pending, and rate limited; answers the alert in force. */
  raiseAlert: command('action.alerts.raise', RaisedAlert, Alert),
  decideAlert: command(
    'action.alerts.decide',
    z.object({
      ...{ ...authored, ...conditional, tenantId: TenantId },
      alertId: z.string(),
      verb: z.enum(['acknowledge', 'approve', 'deny', 'cancel']),
      by: z.string(),
      reason: z.string().max(1000).optional(),
    }),
    Alert,
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
  /** Deletes a run with its events and decisions, and has the dispatcher delete its part. 404 where there is no such run. */
  deleteRun: command(
    'runs.delete',
    z.object({ ...authored, tenantId: TenantId, runId: ClientId, reason: z.string().max(1000).optional() }),
    z.object({ id: z.string(), deletedAt: Instant, complete: z.boolean() }),
    8_000,
  ),
  /** Removes the triggers, alerts, sealed calls and deliveries of runs. Safe to repeat. */
  deleteRunActions: command(
    'action.runs.delete',
    z.object({ tenantId: TenantId, runIds: z.array(ClientId).min(1).max(500) }),
    z.object({ ok: z.literal(true) }),
  ),
  /** Begins to remove what the runs of an actor say; answers the erasure under way where there is one. */
  eraseActor: command(
    'runs.erase',
    z.object({ ...authored, tenantId: TenantId, actorId: ClientId }),
    z.object({ id: z.string(), requestedAt: Instant }),
  ),
  /** Removes what triggers, alerts and deliveries of runs say, and their sealed calls. Safe to repeat. */
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
  /** Makes a new signing secret; what is queued already is still signed with the one before. */
  rotateWebhookSecret: command('action.webhooks.rotate', webhookRef, NewWebhookEndpoint),
  testWebhook: command('action.webhooks.test', webhookRef, z.object({ deliveryId: z.string() })),
} as const;
