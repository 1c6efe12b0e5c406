import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { anyOf } from '../../decisions/answer.ts';
import { type CatalogSoFar, combined, nestedCondition } from '../../decisions/nested.ts';

/** Matches if at least one nested condition matches. */
export function any(catalog: CatalogSoFar) {
  const AnyConfig = z.strictObject({
    conditions: z.array(nestedCondition(catalog)).min(1).max(50).meta({ title: 'Any of' }),
  });
  return {
    type: 'any',
    title: 'Any of these',
    description: 'At least one of the conditions matches.',
    unit: '',
    cadence: 'call',
    config: AnyConfig,
    example: {
      conditions: [
        { type: 'tool_tag', config: { operator: 'anyOf', tags: ['payment'] } },
        { type: 'tool_argument', config: { path: 'amount', type: 'number', operator: 'gt', value: 1000 } },
      ],
    },
    phases: ['decision'],
    askedIn: ['tool.before', 'tool.after', 'llm.before'],
    ready: ({ conditions }) => combined(catalog, conditions, anyOf),
  } satisfies CallCondition<z.infer<typeof AnyConfig>>;
}
