import { Instant, Problem } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { Flag, paging } from '../parameters.ts';

export const DEAD_LETTERS_LIST = 'dead-letters';

const ConsumerLagView = z
  .object({
    group: z.string().meta({ description: 'Consumer group: a service or a part of one.' }),
    topic: z.string(),
    pending: z.int().meta({ description: 'Messages not delivered yet.' }),
    unacknowledged: z.int().meta({ description: 'Messages delivered and not settled.' }),
    redelivered: z.int().meta({ description: 'Of these, messages delivered more than once.' }),
    oldestAgeMs: z
      .number()
      .nullable()
      .meta({ description: 'Age of the oldest unsettled message. Null: there is none.' }),
  })
  .meta({ id: 'ConsumerLag' });
export type ConsumerLagView = z.infer<typeof ConsumerLagView>;

export const getSystemLag = operation({
  id: 'getSystemLag',
  method: 'get',
  path: '/api/system/lag',
  tag: 'System',
  summary: 'Lag of each consumer, for all tenants together. 503 if the broker does not answer.',
  scope: 'platform',
  response: z.object({ measuredAt: Instant, consumers: z.array(ConsumerLagView) }),
});

/** Maximum content of a dead letter, in bytes. */
export const MAX_LETTER_CONTENT_BYTES = 16 * 1024;

const DeadLetterView = z
  .object({
    group: z.string().meta({ description: 'Consumer group of the dead letter.' }),
    topic: z.string(),
    subject: z.string(),
    messageId: z.string(),
    tenantId: z.string().nullable().meta({ description: 'Tenant of the message. Null: unknown.' }),
    reason: z.string().meta({ description: 'Reason. It names the position, never the content.' }),
    deliveryCount: z.int().meta({ description: 'Number of deliveries.' }),
    failedAt: Instant,
    bytes: z.int().meta({ description: 'Size of the message.' }),
    content: z
      .string()
      .optional()
      .meta({
        description:
          `The message as text, up to ${MAX_LETTER_CONTENT_BYTES} bytes, ` +
          'if a key of its tenant asked with `content=true`.',
      }),
    contentCut: z.boolean().optional().meta({ description: 'True if the message is longer than `content`.' }),
  })
  .meta({ id: 'DeadLetter' });
export type DeadLetterView = z.infer<typeof DeadLetterView>;

const { limit, cursor } = paging(DEAD_LETTERS_LIST, 50, 20);
export const DeadLetterFilter = z.object({
  content: Flag.optional().meta({ description: 'Include message contents; not allowed with the scope `platform`.' }),
  limit,
  cursor: cursor.refine((at) => at === undefined || /^\d{1,16}$/.test(at.id), 'is not a cursor of this list'),
});
export type DeadLetterFilter = z.output<typeof DeadLetterFilter>;

export const listDeadLetters = operation({
  id: 'listDeadLetters',
  method: 'get',
  path: '/api/system/dead-letters',
  tag: 'System',
  summary:
    'Messages that no consumer could process, oldest first. An admin sees those of its tenant, the scope `platform` those of ' +
    'all tenants without content. 503 if the broker does not answer.',
  scope: ['admin', 'platform'],
  query: DeadLetterFilter,
  response: z.object({
    deadLetters: z.array(DeadLetterView),
    total: z.int().optional().meta({ description: 'Total, on the first page.' }),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
  }),
});

const health = {
  version: z.string(),
  db: z.object({ ok: z.boolean(), latencyMs: z.number() }),
};

export const getServiceHealth = operation({
  id: 'getServiceHealth',
  method: 'get',
  path: '/api/health',
  tag: 'Service',
  summary: 'Health of the API and its database. 503 if the database does not answer.',
  scope: null,
  response: z.object({ status: z.literal('ok'), ...health }).meta({ id: 'ServiceHealth' }),
  unavailable: Problem.extend({ status: z.literal('degraded'), ...health }).meta({ id: 'DegradedHealth' }),
});

export const getFeatures = operation({
  id: 'getFeatures',
  method: 'get',
  path: '/api/config/features',
  tag: 'Service',
  summary: 'Features of this server.',
  scope: null,
  response: z.object({ features: z.record(z.string(), z.boolean()) }),
});

export const getOpenApi = operation({
  id: 'getOpenApi',
  method: 'get',
  path: '/openapi.json',
  tag: 'Service',
  summary: 'This document.',
  scope: null,
  response: z.record(z.string(), z.unknown()),
});
