import { z } from 'zod';
import { ChangeAuthor } from './changes.ts';
import { DecisionPhase } from './decisions.ts';
import { JsonObject } from './events.ts';
import { ClientId, Instant, TenantId } from './ids.ts';

const names = z.array(z.string().min(1).max(256)).min(1).max(100);

/**
 * Selects the calls a decision rule applies to; absent fields do not restrict. Tools are globs (`*` only) that match
 * whole names; like tags, they ignore case. Without phases a rule applies before tool calls.
 */
export const RuleSelector = z.strictObject({
  phases: z.array(DecisionPhase).min(1).max(4).optional(),
  tools: names.optional(),
  toolTagsAll: names.optional(),
  toolTagsAny: names.optional(),
  agentSlugsAny: names.optional(),
  agentTagsAll: names.optional(),
  agentTagsAny: names.optional(),
});
export type RuleSelector = z.infer<typeof RuleSelector>;

const RULE_MODES = ['enforce', 'canary', 'shadow', 'off'] as const;

/** What a rollout keeps together: a run with all its sub-runs, a run, a session, an end user or an agent. */
export const ROLLOUT_UNITS = ['tree', 'run', 'session', 'actor', 'agent'] as const;
export type RolloutUnit = (typeof ROLLOUT_UNITS)[number];

const PERCENT = 'must be a number from 0.01 to 100 with at most two decimals';

/**
 * The share of units for which a canary rule is enforced. A unit that is in the share at one percentage is also in it at
 * every higher percentage.
 */
export const Rollout = z.strictObject({
  percent: z
    .number(PERCENT)
    .min(0.01, PERCENT)
    .max(100, PERCENT)
    .refine((percent) => percent < 0.01 || Number(percent.toFixed(2)) === percent, PERCENT),
  /** By default `tree`, and `agent` for rules on events, whose actions stop agents. */
  by: z.enum(ROLLOUT_UNITS).optional(),
});
export type Rollout = z.infer<typeof Rollout>;

const rate = z.number().min(0).max(1);

/** What a rule must have shown in its present mode before `promote` moves it on. Rates are shares of the asked calls. */
export const PromotionGuard = z.strictObject({
  minAsked: z.int().min(0).max(1_000_000_000).optional(),
  minHours: z.number().min(0).max(8_760).optional(),
  maxStopRate: rate.optional(),
  maxFalseRejectionRate: rate.optional(),
  maxBypassRate: rate.optional(),
});
export type PromotionGuard = z.infer<typeof PromotionGuard>;

/** When a canary or enforced rule returns to shadow by itself. */
export const RollbackBounds = z
  .strictObject({
    maxStopRate: rate.optional(),
    maxFalseRejectionRate: rate.optional(),
    windowMinutes: z.int().min(1).max(1440).default(10),
    /** Fewer asked calls in the window decide nothing. */
    minAsked: z.int().min(1).max(1_000_000).default(50),
  })
  .refine((bounds) => bounds.maxStopRate !== undefined || bounds.maxFalseRejectionRate !== undefined, {
    path: ['maxStopRate'],
    message: 'set maxStopRate or maxFalseRejectionRate; without a bound nothing is taken back',
  });
export type RollbackBounds = z.infer<typeof RollbackBounds>;

/** Body of `POST /api/guardrails/:id/promote`. */
export const Promotion = z
  .strictObject({
    to: z.enum(['shadow', 'canary', 'enforce']),
    /** Only for `canary`, which requires it. */
    percent: Rollout.shape.percent.optional(),
    by: Rollout.shape.by,
    reason: z.string().trim().min(1, 'must contain a reason').max(1000).optional(),
    /** Promotes although the guard is not met. */
    force: z.boolean().default(false),
  })
  .superRefine(({ to, percent, by, reason, force }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (to === 'canary' && percent === undefined) refuse('percent', `is required with "to": "canary"; ${PERCENT}`);
    if (to !== 'canary' && percent !== undefined) refuse('percent', 'is only possible with "to": "canary"; remove it');
    if (to !== 'canary' && by !== undefined) refuse('by', 'is only possible with "to": "canary"; remove it');
    if (force && reason === undefined) refuse('reason', 'is required with "force": true');
  });
export type Promotion = z.output<typeof Promotion>;

/** A rule that has no effect until an instant, in any mode. */
export const Suspension = z.object({ until: Instant, reason: z.string().min(1).max(1000) });
export type Suspension = z.infer<typeof Suspension>;

const ruleFields = {
  name: z.string().trim().min(1, 'must not be empty').max(200),
  description: z.string().max(1000).optional(),
  enabled: z.boolean().default(true),
  conditionType: z.string().min(1),
  /** Validated by the condition's own schema, found by `conditionType` in the catalog. */
  conditionConfig: JsonObject.default({}),
  actionType: z.string().min(1),
  /** Validated by the action's own schema, found by `actionType` in the catalog. */
  actionConfig: JsonObject.default({}),
  /** If absent or null, the rule applies to every agent of the tenant. */
  agentId: ClientId.nullish(),
  /** Minimum time between two effective triggers of this rule for the same agent, 0 to 1440 minutes. */
  cooldownMinutes: z.int().min(0).max(1440).default(15),
  /** Record the result without executing the action. */
  dryRun: z.boolean().default(false),
  direction: z.enum(['input', 'output', 'both']).default('both'),
  toolNames: z.array(z.string().min(1).max(256)).max(100).optional(),
  priority: z.int().min(-1000).max(1000).default(0),
  /**
   * `shadow` records the result without applying it; `canary` applies it to the share in `rollout` and records the rest;
   * `off` equals not enabled.
   */
  mode: z.enum(RULE_MODES).default('enforce'),
  /** Only with mode `canary`, which requires it. */
  rollout: Rollout.nullish(),
  guard: PromotionGuard.nullish(),
  rollback: RollbackBounds.nullish(),
  /** Effect of a decision rule if the call lacks the data its condition reads. */
  onMissing: z.enum(['allow', 'block']).default('allow'),
  /** Effect of a decision rule if its facts cannot be fetched in time. */
  onUnavailable: z.enum(['allow', 'block']).default('allow'),
  /** Only for decision rules. */
  selector: RuleSelector.nullish(),
  /** The policy this rule was imported with. */
  policyId: z.string().min(1).max(200).nullish(),
};

/** Body of `POST /api/guardrails`. */
export const RuleDraft = z.strictObject({
  ...ruleFields,
  onUnavailable: ruleFields.onUnavailable.unwrap().optional().meta({
    description:
      'Effect of a decision rule if its facts, or an approval, cannot be requested in time. Default: block with the action require_approval, else allow.',
  }),
});
export type RuleDraft = z.infer<typeof RuleDraft>;

/** A stored rule. `version` increases by one with every change and is part of every trigger's identity. */
export const GuardrailRule = z.object({
  ...ruleFields,
  agentId: ClientId.optional(),
  selector: RuleSelector.optional(),
  policyId: z.string().optional(),
  rollout: Rollout.optional(),
  guard: PromotionGuard.optional(),
  rollback: RollbackBounds.optional(),
  suspended: Suspension.optional(),
  /** The version in which what the rule checks or does last changed. Approvals and figures belong to it. */
  meaningVersion: z.int().optional(),
  /** Its key in rule files; absent if it was never in one. */
  key: z.string().optional(),
  /** The ruleset that manages it; other writers have read-only access. */
  ruleset: z.string().optional(),
  /** The version last applied by its ruleset; any other version is drift. */
  appliedVersion: z.int().optional(),
  id: z.string().min(1),
  tenantId: TenantId,
  version: z.int().min(1),
  createdAt: Instant,
  updatedAt: Instant,
});
export type GuardrailRule = z.infer<typeof GuardrailRule>;

/** How a rule was changed. */
export const RULE_CHANGE_SOURCES = [
  'api',
  'import',
  'promotion',
  'revert',
  'rollback',
  'ruleset',
  'suspension',
] as const;
export type RuleChangeSource = (typeof RULE_CHANGE_SOURCES)[number];

/** Author and reason of a rule change. Optional, because replicas of an older version do not send it. */
export const RuleChangeAuthor = z.object({
  by: z.string().min(1).max(500).optional(),
  reason: z.string().min(1).max(1000).optional(),
  author: ChangeAuthor.optional(),
});
export type RuleChangeAuthor = z.infer<typeof RuleChangeAuthor>;

/**
 * One changed field. `path` descends into configs and the selector (`conditionConfig.threshold`); lists are compared as
 * a whole. Without `from` the field is new, without `to` it was removed. Secrets have neither.
 */
export const FieldChange = z.object({
  path: z.string(),
  from: z.unknown().optional(),
  to: z.unknown().optional(),
  secret: z.literal(true).optional(),
});
export type FieldChange = z.infer<typeof FieldChange>;
