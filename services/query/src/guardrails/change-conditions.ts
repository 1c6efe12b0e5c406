import type { RuleChangeHeaders } from '@agentlens/operations';
import type { z } from 'zod';

/** Reads the preconditions of a rule change from the request headers. */
export function conditionsOf(headers: z.output<typeof RuleChangeHeaders>) {
  return { ifVersion: headers['if-match'], override: headers['x-agentlens-override'] };
}
