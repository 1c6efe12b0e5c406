import { CONTROL_SCOPES, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** What stands against an agent or a run now: the most severe of orders, of pauses by rules and of open breakers. */
export const ControlStateView = z
  .object({
    state: z.enum(['running', 'paused', 'killed', 'breaker_open']),
    source: z.enum(['order', 'rule', 'breaker']).optional().meta({ description: 'What put it there.' }),
    scope: z
      .enum(CONTROL_SCOPES)
      .optional()
      .meta({ description: 'Of what: of a run also its agent, its tenant, its parent.' }),
    scopeId: z.string().optional(),
    by: z.string().optional().meta({ description: 'Who gave the order, or the name of the rule.' }),
    reason: z.string().optional(),
    since: Instant.optional(),
  })
  .meta({ id: 'ControlState', description: 'Only `state` where it is `running`.' });
export type ControlStateView = z.infer<typeof ControlStateView>;
