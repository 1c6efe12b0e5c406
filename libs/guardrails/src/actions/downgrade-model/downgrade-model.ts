import { z } from 'zod';
import type { ExecutedAction } from '../../catalog/action-module.ts';

const DowngradeConfig = z.strictObject({
  targetModel: z.string().trim().min(1).max(200).meta({ title: 'Model to use instead' }),
  message: z.string().trim().min(1).max(1000).optional().meta({ title: 'Message shown to the agent' }),
});
type DowngradeConfig = z.infer<typeof DowngradeConfig>;

/** Sets the agent's `modelOverride` directive. */
export const downgradeModel: ExecutedAction<DowngradeConfig> = {
  type: 'downgrade_model',
  title: 'Downgrade the model',
  description: 'Makes the agent use another, usually cheaper, model until the override is cleared.',
  config: DowngradeConfig,
  example: { targetModel: 'gpt-4o-mini', message: 'Daily budget reached' },
  phases: ['stream'],
  urgency: 'control',
  secrets: [],
  addresses: [],
  async execute(config, trigger, { directives }) {
    const { tenantId, agentId, id: triggerId } = trigger;
    const reason = config.message ?? trigger.message;
    await directives.overrideModel({ tenantId, agentId, triggerId, reason, model: config.targetModel });
    return { kind: 'delivered', detail: `model set to ${config.targetModel}` };
  },
};
