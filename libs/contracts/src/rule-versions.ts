import { z } from 'zod';
import { ChangeAuthor } from './changes.ts';

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
