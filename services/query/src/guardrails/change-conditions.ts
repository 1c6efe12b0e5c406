import type { RuleChangeHeaders } from '@agentlens/operations';
import type { z } from 'zod';

/** On which conditions a rule is changed, as the headers say. */
export function conditionsOf(headers: z.output<typeof RuleChangeHeaders>) {
  return { ifVersion: headers['if-match'], override: headers['x-agentlens-override'] };
}
