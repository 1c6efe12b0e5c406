import { Instant, Problem } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { Flag, paging } from '../parameters.ts';

export const DEAD_LETTERS_LIST = 'dead-letters';

const ConsumerLagView = z
  .object({
    group: z.string().meta({ description: 'The consumer group: a service, or a part of one.' }),
    topic: z.string(),
    pending: z.int().meta({ description: 'Messages that were not handed out yet.' }),
    unacknowledged: z.int().meta({ description: 'Messages that were handed out and are not settled.' }),
    redelivered: z.int().meta({ description: 'Of those, how many were handed out more than once.' }),
    oldestAgeMs: z.number().nullable().meta({ description: 'Of the oldest message not settled. Null: there is none.' }),
  })
  .meta({ id: 'ConsumerLag' });
export type ConsumerLagView = z.infer<typeof ConsumerLagView>;

export const getSystemLag = operation({
  id: 'getSystemLag',
  method: 'get',
  path: '/api/system/lag',
  tag: 'System',
  summary: 'How far each consumer of the platform is behind, for all tenants together. 503 while the broker is silent.',
  scope: 'platform',
  response: z.object({ measuredAt: Instant, consumers: z.array(ConsumerLagView) }),
});

/** Of the content of one letter, bytes. */
export const MOST_LETTER_CONTENT = 16 * 1024;

const DeadLetterView = z
  .object({
    group: z.string().meta({ description: 'The consumer group that gave up.' }),
    topic: z.string(),
    subject: z.string(),
    messageId: z.string(),
    tenantId: z.string().nullable().meta({ description: 'Whose message it was. Null: its subject does not say.' }),
    reason: z.string().meta({ description: 'Why it was given up. It names the place, never what stands there.' }),
    deliveryCount: z.int().meta({ description: 'How often the group got it.' }),
    failedAt: Instant,
    bytes: z.int().meta({ description: 'Of the message.' }),
    content: z
      .string()
      .optional()
      .meta({
        description:
          `The message as text, at most its first ${MOST_LETTER_CONTENT} bytes: where ` +
          '`content=true` was asked for by a key of its tenant.',
      }),
    contentCut: z.boolean().optional().meta({ description: 'Whether the message is longer than `content`.' }),
  })
  .meta({ id: 'DeadLetter' });
export type DeadLetterView = z.infer<typeof DeadLetterView>;

const { limit, cursor } = paging(DEAD_LETTERS_LIST, 50, 20);
export const DeadLetterFilter = z.object({
  content: Flag.optional().meta({ description: 'With what the messages hold; refused to the scope `platform`.' }),
  limit,
  cursor: cursor.refine((at) => at === undefined || /^\d{1,16}$/.test(at.id), 'is not a cursor this list gave'),
});
export type DeadLetterFilter = z.output<typeof DeadLetterFilter>;

export const listDeadLetters = operation({
  id: 'listDeadLetters',
  method: 'get',
  path: '/api/system/dead-letters',
  tag: 'System',
  summary:
    'Messages that a consumer gave up on, oldest first. An admin sees those of its tenant, the scope `platform` those of ' +
    'all tenants without what they hold. 503 while the broker is silent.',
  scope: ['admin', 'platform'],
  query: DeadLetterFilter,
  response: z.object({
    deadLetters: z.array(DeadLetterView),
    total: z.int().optional().meta({ description: 'How many there are, on the first page.' }),
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
  summary: 'Whether the API and its database answer. 503 while the database does not.',
  scope: null,
  response: z.object({ status: z.literal('ok'), ...health }).meta({ id: 'ServiceHealth' }),
  unavailable: Problem.extend({ status: z.literal('degraded'), ...health }).meta({ id: 'DegradedHealth' }),
});

export const getFeatures = operation({
  id: 'getFeatures',
  method: 'get',
  path: '/api/config/features',
  tag: 'Service',
  summary: 'What this server can do, for clients that ask before they show.',
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
