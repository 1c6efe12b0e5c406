import { z } from 'zod';

/** Names a rule among all rules of a tenant, or a ruleset among its rulesets. */
export const RuleKey = z
  .string('must be a name like "large-payments"')
  .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and "-", at most 64, like "large-payments"');

/** Most rules of one ruleset. */
export const MOST_RULES_OF_A_SET = 2_000;
