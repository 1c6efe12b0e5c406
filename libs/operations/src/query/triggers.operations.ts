import { ACTION_RESULTS, ClientId } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging, timeRange } from '../parameters.ts';
import { Total } from '../total.ts';
import { TriggerView } from './trigger-view.ts';

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
