import { z } from 'zod';
import type { ExecutedAction } from '../../catalog/action-module.ts';

const PauseConfig = z.strictObject({
  message: z.string().trim().min(1).max(1000).optional().meta({ title: 'Message shown to the agent' }),
});
type PauseConfig = z.infer<typeof PauseConfig>;

/** Sets the agent's `paused` directive until an operator resumes it. */
export const pauseAgent: ExecutedAction<PauseConfig> = {
  type: 'pause_agent',
  title: 'Pause the agent',
  description: 'Stops the agent. It stays paused until it is resumed in the console or through the API.',
  config: PauseConfig,
  example: { message: 'Too many errors: paused for review' },
  phases: ['stream'],
  urgency: 'control',
  secrets: [],
  addresses: [],
  async execute(config, trigger, { directives }) {
    const reason = config.message ?? trigger.message;
    await directives.pause({ tenantId: trigger.tenantId, agentId: trigger.agentId, triggerId: trigger.id, reason });
    return { kind: 'delivered', detail: 'paused' };
  },
};
