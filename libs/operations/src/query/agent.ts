import { AgentTool, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { ControlStateView } from './control-state.ts';

export const Agent = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    name: z.string(),
    description: z.string().optional(),
    slug: z.string().optional().meta({ description: 'Of an agent that registered itself.' }),
    tags: z.array(z.string()).meta({ description: 'As registered.' }),
    tools: z.array(AgentTool).meta({ description: 'As registered, by name.' }),
    firstSeenAt: Instant,
    lastSeenAt: Instant,
    sessionCount: z.int(),
    eventCount: z.int(),
    errorCount: z.int(),
    totalCostUsd: z.number(),
    control: ControlStateView,
    pausedAt: Instant.optional().meta({ description: 'Present while a rule holds the agent paused.' }),
    pauseReason: z.string().optional(),
    modelOverride: z
      .string()
      .optional()
      .meta({ description: 'The model the agent is told to use instead of its own.' }),
    modelOverrideReason: z.string().optional(),
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;
