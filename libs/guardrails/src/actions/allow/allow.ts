import { z } from 'zod';
import type { DecisionAction } from '../../catalog/action-module.ts';

const AllowConfig = z.strictObject({});
type AllowConfig = z.infer<typeof AllowConfig>;

/** Reports the match and does nothing else: every other effect is more severe. */
export const allow: DecisionAction<AllowConfig> = {
  type: 'allow',
  title: 'Allow',
  description: 'Only reports that the rule matched. Never overrides a rule that blocks.',
  config: AllowConfig,
  example: {},
  phases: ['decision'],
  urgency: 'control',
  secrets: [],
  addresses: [],
  effect: () => ({ kind: 'allow' }),
};
