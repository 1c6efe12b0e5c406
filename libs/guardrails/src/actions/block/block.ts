import { z } from 'zod';
import type { DecisionAction } from '../../catalog/action-module.ts';

const BlockConfig = z.strictObject({
  message: z.string().trim().min(1).max(500).optional().meta({ title: 'Message for the agent' }),
});
type BlockConfig = z.infer<typeof BlockConfig>;

/** The call must not happen; the run goes on. */
export const block: DecisionAction<BlockConfig> = {
  type: 'block',
  title: 'Block the call',
  description: 'The call is not made. The agent is told why and goes on.',
  config: BlockConfig,
  example: { message: 'Deploying is not for agents' },
  phases: ['decision'],
  urgency: 'control',
  secrets: [],
  addresses: [],
  effect: ({ message }) => ({ kind: 'block', message }),
};
