import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { not as opposite } from '../../decisions/answer.ts';
import { type CatalogSoFar, combined, nestedCondition } from '../../decisions/nested.ts';

/** Negates a condition. `missing` and `unavailable` stay as they are. */
export function not(catalog: CatalogSoFar) {
  const NotConfig = z.strictObject({ condition: nestedCondition(catalog).meta({ title: 'Not' }) });
  return {
    type: 'not',
    title: 'Not',
    description: 'The condition does not match.',
    unit: '',
    cadence: 'call',
    config: NotConfig,
    example: { condition: { type: 'subject', config: { subjectType: 'customer' } } },
    phases: ['decision'],
    askedIn: ['tool.before', 'tool.after', 'llm.before'],
    ready: ({ condition }) => combined(catalog, [condition], ([answer = false]) => opposite(answer)),
  } satisfies CallCondition<z.infer<typeof NotConfig>>;
}
