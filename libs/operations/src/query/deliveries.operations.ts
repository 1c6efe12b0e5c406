import { ACTION_RESULTS, ClientId, DeliveryExchange, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging } from '../parameters.ts';

export const DELIVERIES_LIST = 'deliveries';

export const DeliveryFilter = consistent(
  z.object({
    triggerId: ClientId.optional(),
    ruleId: ClientId.optional(),
    webhookId: ClientId.optional(),
    result: commaListOf(ACTION_RESULTS).optional(),
    ...paging(DELIVERIES_LIST, 200),
  }),
);
export type DeliveryFilter = z.output<typeof DeliveryFilter>;

const Attempt = z.object({
  attempt: z.int(),
  startedAt: Instant,
  finishedAt: Instant,
  outcome: z.enum(['delivered', 'retry', 'rejected']),
  httpStatus: z.int().optional(),
  detail: z.string().optional(),
});
export type Attempt = z.infer<typeof Attempt>;

const shown = {
  id: z.string(),
  triggerId: z.string().meta({ description: 'The trigger, alert or other thing it is about.' }),
  ruleId: z.string().meta({ description: 'Empty where no rule led to it.' }),
  agentId: z.string().meta({ description: 'Empty where it concerns no one agent.' }),
  webhookId: z.string().optional().meta({ description: 'The webhook of the tenant that was told.' }),
  actionType: z.string(),
  result: z.enum(ACTION_RESULTS),
  detail: z.string().optional(),
  triggeredAt: Instant,
  createdAt: Instant,
  settledAt: Instant.optional(),
  nextAttemptAt: Instant.optional().meta({ description: 'Absent once settled.' }),
  attemptCount: z.int(),
};

export const DeliveryView = z
  .object({ ...shown, attempts: z.array(Attempt).meta({ description: 'Oldest first.' }) })
  .meta({ id: 'Delivery' });
export type DeliveryView = z.infer<typeof DeliveryView>;

const WholeAttempt = z.object({
  ...Attempt.shape,
  request: DeliveryExchange.shape.request.optional(),
  response: DeliveryExchange.shape.response.optional(),
});
export type WholeAttempt = z.infer<typeof WholeAttempt>;

export const WholeDelivery = z
  .object({
    ...shown,
    attempts: z.array(WholeAttempt).meta({
      description:
        'Oldest first, with what was sent and answered. Without both: nobody was called, or it is from before.',
    }),
  })
  .meta({ id: 'WholeDelivery' });
export type WholeDelivery = z.infer<typeof WholeDelivery>;

export const getDelivery = operation({
  id: 'getDelivery',
  method: 'get',
  path: '/api/guardrails/deliveries/:id',
  tag: 'Deliveries',
  summary: 'One delivery: of each attempt what was sent and what was answered, redacted.',
  scope: 'read',
  params: IdPath,
  response: WholeDelivery,
  problems: [404],
});

export const listDeliveries = operation({
  id: 'listDeliveries',
  method: 'get',
  path: '/api/guardrails/deliveries',
  tag: 'Deliveries',
  summary: 'How actions were carried out and webhooks told, with every attempt; newest first.',
  scope: 'read',
  query: DeliveryFilter,
  response: z.object({
    deliveries: z.array(DeliveryView),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

export const redeliver = operation({
  id: 'redeliver',
  method: 'post',
  path: '/api/guardrails/deliveries/:id/redeliver',
  tag: 'Deliveries',
  summary: 'Carries the action out once more. The receiver sees the same webhook-id.',
  scope: 'admin',
  once: true,
  params: IdPath,
  status: 202,
  response: z.object({ deliveryId: z.string() }),
  problems: [404, 409],
});
