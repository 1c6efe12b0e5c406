import { z } from 'zod';
import type { DecisionAction } from '../../catalog/action-module.ts';

const TerminateConfig = z.strictObject({
  message: z.string().trim().min(1).max(500).optional().meta({ title: 'Message for the agent' }),
});
type TerminateConfig = z.infer<typeof TerminateConfig>;

/** Rejects the call and ends the run. */
export const terminateRun: DecisionAction<TerminateConfig> = {
  type: 'terminate_run',
  title: 'End the run',
  description: 'The call is not made, and the agent ends its run.',
  config: TerminateConfig,
  example: { message: 'This run is over' },
  phases: ['decision'],
  urgency: 'control',
  secrets: [],
  addresses: [],
  effect: ({ message }) => ({ kind: 'terminate', message }),
};
