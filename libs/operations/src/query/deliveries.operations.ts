import { ClientId, DELIVERY_RESULTS, DeliveryExchange, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { commaListOf, consistent, IdPath, paging } from '../parameters.ts';

export const DELIVERIES_LIST = 'deliveries';

export const DeliveryFilter = consistent(
  z.object({
    triggerId: ClientId.optional(),
    ruleId: ClientId.optional(),
    webhookId: ClientId.optional(),
    result: commaListOf(DELIVERY_RESULTS).optional(),
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
  triggerId: z.string().meta({ description: 'Trigger, alert or other object of the delivery.' }),
  ruleId: z.string().meta({ description: 'Empty without a rule.' }),
  agentId: z.string().meta({ description: 'Empty if it does not concern a single agent.' }),
  webhookId: z.string().optional().meta({ description: 'The tenant webhook that receives it.' }),
  webhook: z
    .object({
      name: z.string().optional(),
      host: z.string().optional(),
      event: z.string().optional().meta({ description: 'Type of the message, such as `alert.changed`.' }),
      status: z.string().optional().meta({ description: 'What the message says of its subject, such as `killed`.' }),
    })
    .optional()
    .meta({ description: 'With a webhookId: who is notified, and of what. Without a name or host, it was deleted.' }),
  actionType: z.string(),
  result: z.enum(DELIVERY_RESULTS),
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
        'Oldest first, with request and response. Without both, no call was made, or the attempt predates recording.',
    }),
  })
  .meta({ id: 'WholeDelivery' });
export type WholeDelivery = z.infer<typeof WholeDelivery>;

export const getDelivery = operation({
  id: 'getDelivery',
  method: 'get',
  path: '/api/guardrails/deliveries/:id',
  tag: 'Deliveries',
  summary: 'A delivery with the redacted request and response of each attempt.',
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
  summary: 'Deliveries of actions and webhook messages with every attempt, newest first.',
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
  summary: 'Run the action again. The receiver sees the same webhook-id.',
  scope: ['admin', 'operate'],
  once: true,
  params: IdPath,
  status: 202,
  response: z.object({ deliveryId: z.string() }),
  problems: [404, 409],
});
