import { ACTION_RESULTS, ClientId, COMPARISON_WORDS, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, Total } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging, timeRange } from '../parameters.ts';

/** A trigger. `metadata` is the AgentLens format; the other members repeat and extend it. */
export const TriggerView = z
  .object({
    id: z.string(),
    ruleId: z.string(),
    tenantId: z.string(),
    triggeredAt: Instant,
    conditionValue: z.number(),
    conditionThreshold: z.number(),
    comparison: z.enum(COMPARISON_WORDS).optional().meta({
      description: 'Relation of value and threshold: `reaches` means at least. Absent in old triggers.',
    }),
    actionExecuted: z.boolean().meta({ description: 'The action was attempted at least once.' }),
    actionResult: z.enum(ACTION_RESULTS),
    actionDetail: z.string().optional().meta({ description: 'Why it failed or is being retried.' }),
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
  summary: 'Triggers, newest first. Triggers of deleted rules are kept.',
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
  summary: "Results of a rule's actions, newest first.",
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
