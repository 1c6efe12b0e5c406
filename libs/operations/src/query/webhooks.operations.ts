import {
  NewWebhookEndpoint,
  WEBHOOK_EVENTS,
  WebhookDraft,
  WebhookEndpoint,
  WebhookPatch,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { IdPath, paging } from '../parameters.ts';
import { DeliveryView } from './deliveries.operations.ts';

const TAG = 'Webhooks';

export const WEBHOOK_DELIVERIES_LIST = 'webhook deliveries';

export const WebhookView = WebhookEndpoint.extend({
  disabledReason: z.string().optional().meta({
    description: 'Why the webhook is disabled (it answered 410). Set `enabled` to true to retry.',
  }),
}).meta({ id: 'Webhook' });
export type WebhookView = z.infer<typeof WebhookView>;

const NewWebhook = NewWebhookEndpoint.meta({ id: 'NewWebhook' });

export const createWebhook = operation({
  id: 'createWebhook',
  method: 'post',
  path: '/api/webhooks',
  tag: TAG,
  summary:
    `Create a webhook for facts of the tenant: ${WEBHOOK_EVENTS.join(', ')}. The signing secret is only in ` +
    'this answer. `format: slack` sends Slack messages.',
  scope: 'admin',
  once: true,
  body: WebhookDraft.meta({ id: 'WebhookDraft' }),
  examples: {
    signed: { url: 'https://example.com/agentlens', events: ['approvals', 'breakers', 'orders'] },
    slack: {
      ...{ name: 'On call', url: 'https://hooks.slack.com/services/T000/B000/XXXX', format: 'slack' },
      events: ['approvals', 'alerts', 'budgets'],
    },
  },
  status: 201,
  versioned: true,
  response: NewWebhook,
  problems: [422],
});

export const listWebhooks = operation({
  id: 'listWebhooks',
  method: 'get',
  path: '/api/webhooks',
  tag: TAG,
  summary: 'Webhooks of the tenant, oldest first.',
  scope: 'admin',
  response: z.object({ webhooks: z.array(WebhookView) }),
});

export const getWebhook = operation({
  id: 'getWebhook',
  method: 'get',
  path: '/api/webhooks/:id',
  tag: TAG,
  summary: 'One webhook.',
  scope: 'admin',
  params: IdPath,
  response: WebhookView,
  problems: [404],
  versioned: true,
});

export const updateWebhook = operation({
  id: 'updateWebhook',
  method: 'patch',
  path: '/api/webhooks/:id',
  tag: TAG,
  summary: 'Change the fields you send. Disabling discards queued messages.',
  scope: 'admin',
  params: IdPath,
  headers: VersionHeaders,
  body: WebhookPatch.meta({ id: 'WebhookPatch' }),
  response: WebhookView,
  problems: [404, 412],
  versioned: true,
});

export const deleteWebhook = operation({
  id: 'deleteWebhook',
  method: 'delete',
  path: '/api/webhooks/:id',
  tag: TAG,
  summary: 'Delete the webhook and discard queued messages. Its deliveries are kept.',
  scope: 'admin',
  params: IdPath,
  headers: VersionHeaders,
  response: z.object({ ok: z.literal(true) }),
  problems: [404, 412],
});

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  method: 'post',
  path: '/api/webhooks/:id/secret',
  tag: TAG,
  summary: 'Replace the signing secret and return it once. Queued messages keep the old signature.',
  scope: 'admin',
  once: true,
  params: IdPath,
  headers: VersionHeaders,
  response: NewWebhook,
  problems: [404, 412],
  versioned: true,
});

export const testWebhook = operation({
  id: 'testWebhook',
  method: 'post',
  path: '/api/webhooks/:id/test',
  tag: TAG,
  summary: "Send a test message. The result is in the webhook's deliveries.",
  scope: 'admin',
  once: true,
  params: IdPath,
  status: 202,
  response: z.object({ deliveryId: z.string() }),
  problems: [404],
});

export const listWebhookDeliveries = operation({
  id: 'listWebhookDeliveries',
  method: 'get',
  path: '/api/webhooks/:id/deliveries',
  tag: TAG,
  summary:
    'Messages sent to this webhook with every attempt, newest first. Repeat one with POST /api/guardrails/deliveries/:id/redeliver.',
  scope: 'admin',
  params: IdPath,
  query: z.object(paging(WEBHOOK_DELIVERIES_LIST, 200)),
  response: z.object({
    deliveries: z.array(DeliveryView),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
  problems: [404],
});
