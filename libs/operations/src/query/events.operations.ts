import { ClientId, CostSource, EventKind, Instant, JsonObject, Severity } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, Total } from '../operation.ts';
import { CommaList, consistent, Flag, IdPath, paging, SearchText, SeverityList, timeRange } from '../parameters.ts';

const Count = z.number().nullable();

/** Where the figures of a model call come from. */
const UsageOrigin = z.object({
  counts: z.enum(['provider', 'adapter', 'instrumentation', 'client', 'computed', 'unknown']).meta({
    description:
      'Who counted the tokens. `provider`: its own usage, passed on beside the counts of a framework. `computed`: derived from other counts, such as the total.',
  }),
  cost: z.enum(['reported', 'computed', 'estimated', 'unknown']),
  reportedBy: z.string().optional().meta({ description: 'Adapter, framework or instrumentation, with its version.' }),
  priceRef: z.string().optional(),
  approximation: z.string().optional().meta({ description: 'Why the cost is an estimate.' }),
  unpricedReason: z.string().optional(),
  feesUsd: z.number().optional().meta({ description: 'The part of the computed cost that is fees for searches.' }),
});

/**
 * A stored event, in pages and streams. The first block is the AgentLens format; there is no hash chain, so `prevHash`
 * is always null, and `hash` covers the event's own canonical form.
 */
export const StoredEvent = z
  .object({
    id: z.string(),
    timestamp: Instant,
    sessionId: z.string().meta({ description: 'Run of the event.' }),
    agentId: z.string(),
    eventType: z.string().meta({ description: 'Event type as sent by the client.' }),
    severity: Severity,
    payload: JsonObject,
    metadata: JsonObject,
    contentExpired: z.literal(true).optional().meta({
      description: 'Contents were removed (retention or erasure). Counts and times are unchanged.',
    }),
    prevHash: z.null(),
    hash: z.string(),
    tenantId: z.string(),
    kind: EventKind,
    dialect: z.string(),
    isError: z.boolean(),
    tags: z.array(z.string()),
    toolName: z.string().nullable(),
    callId: z.string().nullable(),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    usage: z.object({
      inputTokens: Count,
      outputTokens: Count,
      totalTokens: Count,
      costUsd: Count,
      costSource: CostSource.nullable(),
      latencyMs: Count,
      origin: UsageOrigin.optional(),
    }),
    /** Time of acceptance by the platform. */
    receivedAt: Instant,
  })
  .meta({ id: 'Event' });
export type StoredEvent = z.infer<typeof StoredEvent>;

export const EVENTS_LIST = 'events';

export const EventFilter = consistent(
  z.object({
    sessionId: ClientId.optional(),
    agentId: ClientId.optional(),
    eventType: CommaList.optional().meta({
      description: 'Comma-separated list of client names (`tool_call`) or platform names (`tool.called`).',
    }),
    severity: SeverityList.optional(),
    ...timeRange,
    search: SearchText.min(1, 'must not be empty')
      .max(500, 'must be at most 500 characters')
      .optional()
      .meta({ description: "Text to find in the payload's JSON, case-insensitive." }),
    excludeMetrics: Flag.optional().meta({ description: 'Omits events that only record a metric.' }),
    order: z.enum(['asc', 'desc'], 'must be "asc" or "desc"').default('desc'),
    ...paging(EVENTS_LIST, 500),
  }),
);
export type EventFilter = z.output<typeof EventFilter>;

const EventPage = z.object({
  events: z.array(StoredEvent),
  ...Total,
  hasMore: z.boolean(),
  nextCursor: z.string().optional(),
});

export const listEvents = operation({
  id: 'listEvents',
  method: 'get',
  path: '/api/events',
  tag: 'Events',
  summary: 'Matching events, newest first.',
  scope: 'read',
  query: EventFilter,
  response: EventPage,
});

export const getEvent = operation({
  id: 'getEvent',
  method: 'get',
  path: '/api/events/:id',
  tag: 'Events',
  summary: 'One event.',
  scope: 'read',
  params: IdPath,
  response: StoredEvent,
  problems: [404],
});
