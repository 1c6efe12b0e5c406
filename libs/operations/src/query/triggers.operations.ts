import { ACTION_RESULTS, ClientId, COMPARISON_WORDS, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, Total } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging, timeRange } from '../parameters.ts';

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

export const HISTORY_LIST = 'history';

export const HistoryFilter = consistent(
  z.object({
    ruleId: ClientId.optional(),
    agentId: ClientId.optional(),
    ...timeRange,
    result: commaListOf(ACTION_RESULTS).optional(),
    ...paging(HISTORY_LIST, 200),
  }),
);
export type HistoryFilter = z.output<typeof HistoryFilter>;

export const listTriggers = operation({
  id: 'listTriggers',
  method: 'get',
  path: '/api/guardrails/history',
  tag: 'Guardrails',
  summary: 'Triggers, newest first. Triggers of deleted rules stay.',
  scope: 'read',
  query: HistoryFilter,
  response: z.object({
    triggers: z.array(TriggerView),
    ...Total,
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

const ActionsQuery = consistent(z.object(paging(HISTORY_LIST, 200)));

export const listRuleActions = operation({
  id: 'listRuleActions',
  method: 'get',
  path: '/api/guardrails/:id/actions',
  tag: 'Guardrails',
  summary: 'What the action of a rule did, newest first.',
  scope: 'read',
  params: IdPath,
  query: ActionsQuery,
  response: z.object({
    actions: z.array(
      TriggerView.pick({
        id: true,
        ruleId: true,
        triggeredAt: true,
        actionType: true,
        actionResult: true,
        actionDetail: true,
        metadata: true,
      }),
    ),
    ...Total,
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
  problems: [404],
});
