import { ACTION_RESULTS, COMPARISON_WORDS, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** One row of the history. `metadata` is what AgentLens clients read; the rest says the same and more, flat. */
export const TriggerView = z
  .object({
    id: z.string(),
    ruleId: z.string(),
    tenantId: z.string(),
    triggeredAt: Instant,
    conditionValue: z.number(),
    conditionThreshold: z.number(),
    comparison: z.enum(COMPARISON_WORDS).optional().meta({
      description:
        'How the value stands to the threshold: `reaches` is at least. Absent from triggers of old versions.',
    }),
    actionExecuted: z.boolean().meta({ description: 'The action was attempted at least once.' }),
    actionResult: z.enum(ACTION_RESULTS),
    actionDetail: z.string().optional().meta({ description: 'Why it failed or is retried.' }),
    settledAt: Instant.optional(),
    metadata: z.object({
      agentId: z.string(),
      sessionId: z.string().optional(),
      eventId: z.string().optional(),
      dryRun: z.boolean(),
      message: z.string(),
    }),
    agentId: z.string(),
    ruleName: z.string(),
    ruleVersion: z.int(),
    conditionType: z.string(),
    actionType: z.string(),
  })
  .meta({ id: 'Trigger' });
export type TriggerView = z.infer<typeof TriggerView>;
