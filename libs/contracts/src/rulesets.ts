import { z } from 'zod';
import { Instant } from './ids.ts';
import { ProblemDetail } from './problems.ts';
import { FieldChange } from './rule-versions.ts';

/** Names a rule among all rules of a tenant, or a ruleset among its rulesets. */
export const RuleKey = z
  .string('must be a name like "large-payments"')
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and "-", at most 64, like "large-payments"');

/** Most rules of one ruleset. */
const MOST_RULES = 2_000;

/** A rule of a ruleset: a draft with its key. `adopt` is the id of a rule that belongs to nobody, to be taken over. */
const RuleOfSet = z.looseObject({ key: RuleKey, adopt: z.string().min(1).max(100).nullish() });

/** Body of a plan. `prune`: rules of the ruleset that are not listed are deleted. */
export const RulesetDraft = z.strictObject({
  rules: z.array(RuleOfSet, 'must be a list of rules').max(MOST_RULES, `at most ${MOST_RULES} rules`),
  prune: z.boolean().default(false),
});
export type RulesetDraft = z.infer<typeof RulesetDraft>;

/** The version of each rule that a plan was made on, by key. */
export const RulesetBasis = z.record(RuleKey, z.int());
export type RulesetBasis = z.infer<typeof RulesetBasis>;

/** Body of an apply: what was planned, and the basis of that plan. */
export const RulesetApply = RulesetDraft.extend({
  basis: RulesetBasis,
  reason: z.string().trim().min(1).max(1000).optional(),
});
export type RulesetApply = z.infer<typeof RulesetApply>;

/** A version of a rule that was not made by its ruleset. */
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
  /** Absent: the rule is yet to be made. */
  ruleId: z.string().optional(),
  action: z.enum(['create', 'update', 'adopt', 'delete', 'none']),
  changes: z.array(FieldChange),
  /** Whether less may be stopped afterwards. Absent: no. */
  loosens: z.enum(['yes', 'maybe']).optional(),
  /** What others changed since the ruleset was applied. */
  drift: z.array(RuleDrift),
});
export type RulesetChange = z.infer<typeof RulesetChange>;

export const RulesetPlan = z.object({
  ruleset: RuleKey,
  basis: RulesetBasis,
  changes: z.array(RulesetChange),
  /** Keys of rules that belong to the ruleset and are not listed; without `prune` they stay. */
  unlisted: z.array(RuleKey),
  /** Why it cannot be applied. Empty: it can. */
  problems: z.array(ProblemDetail),
});
export type RulesetPlan = z.infer<typeof RulesetPlan>;
