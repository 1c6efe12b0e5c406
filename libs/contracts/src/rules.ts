import { z } from 'zod';
import { DecisionPhase } from './decisions.ts';
import { JsonObject } from './events.ts';
import { ClientId, Instant, TenantId } from './ids.ts';

const names = z.array(z.string().min(1).max(256)).min(1).max(100);

/**
 * Selects the calls a decision rule applies to; absent fields do not restrict. Tools are globs (`*` only) that match
 * whole names; like tags, they ignore case. Without phases a rule applies before tool calls.
 */
export const RuleSelector = z.strictObject({
  phases: z.array(DecisionPhase).min(1).max(3).optional(),
  tools: names.optional(),
  toolTagsAll: names.optional(),
  toolTagsAny: names.optional(),
  agentSlugsAny: names.optional(),
  agentTagsAll: names.optional(),
  agentTagsAny: names.optional(),
});
export type RuleSelector = z.infer<typeof RuleSelector>;

const RULE_MODES = ['enforce', 'shadow', 'off'] as const;

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
  /** `shadow` records the result without applying it; `off` equals not enabled. */
  mode: z.enum(RULE_MODES).default('enforce'),
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
export const RuleDraft = z.strictObject(ruleFields);
export type RuleDraft = z.infer<typeof RuleDraft>;

/** A stored rule. `version` increases by one with every change and is part of every trigger's identity. */
export const GuardrailRule = z.object({
  ...ruleFields,
  agentId: ClientId.optional(),
  selector: RuleSelector.optional(),
  policyId: z.string().optional(),
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
