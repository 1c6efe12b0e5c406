import { z } from 'zod';
import { Instant } from './ids.ts';
import { ProblemDetail } from './problems.ts';
import { FieldChange } from './rules.ts';

/** Key of a rule among a tenant's rules, or of a ruleset among its rulesets. */
export const RuleKey = z
  .string('must be a name like "large-payments"')
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and "-", at most 64, like "large-payments"');

/** Maximum rules of one ruleset. */
const MAX_RULES = 2_000;

/** A rule of a ruleset: a draft with its key. `adopt` is the id of an unowned rule to take over. */
const RuleOfSet = z.looseObject({ key: RuleKey, adopt: z.string().min(1).max(100).nullish() });

/** Body of a plan. `prune`: delete rules of the ruleset that are not listed. */
export const RulesetDraft = z.strictObject({
  rules: z.array(RuleOfSet, 'must be a list of rules').max(MAX_RULES, `at most ${MAX_RULES} rules`),
  prune: z.boolean().default(false),
});
export type RulesetDraft = z.infer<typeof RulesetDraft>;

/** Version of each rule that a plan is based on, by key. */
export const RulesetBasis = z.record(RuleKey, z.int());
export type RulesetBasis = z.infer<typeof RulesetBasis>;

/** Body of an apply: the planned rules and the basis of the plan. */
export const RulesetApply = RulesetDraft.extend({
  basis: RulesetBasis,
  reason: z.string().trim().min(1).max(1000).optional(),
});
export type RulesetApply = z.infer<typeof RulesetApply>;

/** A version of a rule that its ruleset did not create. */
export const RuleDrift = z.object({
  version: z.int(),
  changedAt: Instant,
  changedBy: z.string().optional(),
  reason: z.string().optional(),
  changes: z.array(FieldChange),
});
export type RuleDrift = z.infer<typeof RuleDrift>;

export const RulesetChange = z.object({
  key: RuleKey,
  name: z.string(),
  /** Absent if the rule does not exist yet. */
  ruleId: z.string().optional(),
  action: z.enum(['create', 'update', 'adopt', 'delete', 'none']),
  changes: z.array(FieldChange),
  /** Whether the change may stop less than before; absent means no. */
  loosens: z.enum(['yes', 'maybe']).optional(),
  /** Changes by other writers since the ruleset was last applied. */
  drift: z.array(RuleDrift),
});
export type RulesetChange = z.infer<typeof RulesetChange>;

export const RulesetPlan = z.object({
  ruleset: RuleKey,
  basis: RulesetBasis,
  changes: z.array(RulesetChange),
  /** Keys of the ruleset's rules that are not listed; without `prune` they stay. */
  unlisted: z.array(RuleKey),
  /** Why the plan cannot be applied; empty if it can. */
  problems: z.array(ProblemDetail),
});
export type RulesetPlan = z.infer<typeof RulesetPlan>;
