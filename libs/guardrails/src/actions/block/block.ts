import { z } from 'zod';
import type { DecisionAction } from '../../catalog/action-module.ts';

const BlockConfig = z.strictObject({
  message: z.string().trim().min(1).max(500).optional().meta({ title: 'Message for the agent' }),
});
type BlockConfig = z.infer<typeof BlockConfig>;

/** Rejects the call; the run continues. */
export const block: DecisionAction<BlockConfig> = {
  type: 'block',
  title: 'Block the call',
  description: 'The call is not made. The agent receives the reason and continues.',
  config: BlockConfig,
  example: { message: 'Agents may not deploy' },
  phases: ['decision'],
  urgency: 'control',
  secrets: [],
  addresses: [],
  effect: ({ message }) => ({ kind: 'block', message }),
};
