import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { allOf } from '../../decisions/answer.ts';
import { type CatalogSoFar, combined, nestedCondition } from '../../decisions/nested.ts';

/** Matches if every nested condition matches. */
export function all(catalog: CatalogSoFar) {
  const AllConfig = z.strictObject({
    conditions: z.array(nestedCondition(catalog)).min(1).max(50).meta({ title: 'All of' }),
  });
  return {
    type: 'all',
    title: 'All of these',
    description: 'All of the conditions match.',
    unit: '',
    cadence: 'call',
    config: AllConfig,
    example: {
      conditions: [
        { type: 'tool_tag', config: { operator: 'anyOf', tags: ['payment'] } },
        { type: 'tool_argument', config: { path: 'amount', type: 'number', operator: 'gt', value: 1000 } },
      ],
    },
    phases: ['decision'],
    askedIn: ['tool.before', 'tool.after', 'llm.before'],
    ready: ({ conditions }) => combined(catalog, conditions, allOf),
  } satisfies CallCondition<z.infer<typeof AllConfig>>;
}
