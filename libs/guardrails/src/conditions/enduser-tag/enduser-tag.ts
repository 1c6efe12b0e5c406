import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';

const EnduserTagConfig = z
  .strictObject({
    tag: z.string().min(1).max(256).meta({ title: 'Tag of the end user' }),
    operator: z.enum(['has', 'hasValue', 'hasValueAny']).default('has').meta({ title: 'Test' }),
    values: z.array(z.string().max(1000)).min(1).max(200).optional().meta({ title: 'Values' }),
  })
  .refine(({ operator, values }) => (operator === 'has' ? values === undefined : values !== undefined), {
    path: ['values'],
    message: 'is a list of values with "hasValue" and "hasValueAny", and absent with "has"',
  });
type EnduserTagConfig = z.infer<typeof EnduserTagConfig>;

/** Values that count as false. */
const NO = new Set(['', '0', 'false']);

/** Tags of the person a run acts for: `actor.metadata`. */
export const enduserTag: CallCondition<EnduserTagConfig> = {
  type: 'enduser_tag',
  title: 'End-user tag',
  description: 'The person the run acts for has a tag, or a tag with a certain value.',
  unit: '',
  cadence: 'call',
  config: EnduserTagConfig,
  example: { tag: 'plan', operator: 'hasValueAny', values: ['free', 'trial'] },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ tag, operator, values = [] }) {
    return {
      reads: ['actor'],
      matches({ request: { actor } }) {
        if (actor === undefined) return 'missing';
        const metadata = actor.metadata ?? {};
        const value = Object.hasOwn(metadata, tag) ? metadata[tag] : undefined;
        if (value === undefined) return false;
        return operator === 'has' ? !NO.has(value.toLowerCase()) : values.includes(value);
      },
    };
  },
};
