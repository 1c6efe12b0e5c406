import { z } from 'zod';

const FORM = 'must be the ETag of an answer, like "7", or *';

/** The version a change is meant for: the change is refused with 412 if there is a newer one. `undefined`: any version. */
const IfMatch = z
  .string(FORM)
  // Proxies that compress answers mark their tags as weak.
  .regex(/^(\*|(W\/)?"\d{1,9}")$/, FORM)
  .optional()
  .transform((tag) => (tag === undefined || tag === '*' ? undefined : Number(/\d+/.exec(tag)?.[0])))
  .meta({
    type: 'string',
    pattern: '^(\\*|(W/)?"[0-9]{1,9}")$',
    description: 'The ETag of the version that is changed: 412 if it is not current any more. Left out: any.',
  });

/** Why a rule is changed that a ruleset manages. */
const Override = z
  .string()
  .trim()
  .min(1, 'must say why')
  .max(1000)
  .optional()
  .meta({ description: 'The reason for changing a rule that belongs to a ruleset, which is refused without it.' });

/** Headers of operations that change a rule. */
export const RuleChangeHeaders = z.object({ 'if-match': IfMatch, 'x-agentlens-override': Override });

/** Headers of operations that change something with a version. */
export const VersionHeaders = z.object({ 'if-match': IfMatch });
