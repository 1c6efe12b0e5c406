import { z } from 'zod';
import { PolicyCondition } from './policy-condition.ts';

const names = z.array(z.string().min(1).max(256)).min(1).max(100);
const OnMissing = z.enum(['allow', 'hitl', 'block']);

const PolicySpec = z.strictObject({
  name: z.string().trim().min(1).max(100),
  description: z.string().max(500).optional(),
  agentSelector: z
    .strictObject({ anyOfSlugs: names.optional(), anyOfTags: names.optional(), allOfTags: names.optional() })
    .default({}),
  enabled: z.boolean().default(true),
  mode: z.enum(['enforce', 'shadow']).default('enforce'),
  combine: z.literal('most_severe_wins').default('most_severe_wins'),
  onMissingDefault: OnMissing.default('allow'),
});

const RuleSpec = z.strictObject({
  name: z.string().trim().min(1).max(200),
  enabled: z.boolean().default(true),
  priority: z.int().min(-1000).max(1000).default(0),
  selector: z.strictObject({
    phase: z.enum(['tool.before', 'tool.after']),
    tool: z.strictObject({
      name: z
        .union(
          [
            z
              .string()
              .min(1)
              .max(256)
              .transform((name) => [name]),
            names,
          ],
          {
            error: 'must be a glob, or a list of globs',
          },
        )
        .optional(),
      tagsAll: names.optional(),
      tagsAny: names.optional(),
    }),
  }),
  condition: PolicyCondition,
  effect: z.strictObject({ type: z.enum(['allow', 'hitl', 'block']), reason: z.string().max(500).optional() }),
  onMissing: OnMissing.optional(),
});
export type RuleSpec = z.infer<typeof RuleSpec>;

/** Body of a policy import: governance rules in the Handlebar SDK's format, schema 0.3.0. */
export const PolicyImport = z.strictObject({
  policy: PolicySpec,
  rules: z.array(RuleSpec).min(1).max(100),
});
export type PolicyImport = z.infer<typeof PolicyImport>;
