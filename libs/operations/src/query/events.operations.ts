import { ClientId, CostSource, EventKind, Instant, JsonObject, Severity } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, Total } from '../operation.ts';
import { CommaList, consistent, Flag, IdPath, paging, SeverityList, timeRange } from '../parameters.ts';

const Count = z.number().nullable();

/**
 * An event as it is read back, by page or by stream. The first block is what AgentLens clients know; there is no hash chain,
 * so `prevHash` is always null, while `hash` is over the event's own canonical form.
 */
export const StoredEvent = z
  .object({
    id: z.string(),
    timestamp: Instant,
    sessionId: z.string().meta({ description: 'The run the event belongs to.' }),
    agentId: z.string(),
    eventType: z.string().meta({ description: "The client's own name of the event type." }),
    severity: Severity,
    payload: JsonObject,
    metadata: JsonObject,
    contentExpired: z.literal(true).optional().meta({
      description:
        'What it said was removed (retention of contents, or an erasure). Counts and times are as they were.',
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
    }),
    /** When the platform accepted it. */
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
      description:
        "Comma-separated list; the client's names (`tool_call`) and the platform's (`tool.called`) both match.",
    }),
    severity: SeverityList.optional(),
    ...timeRange,
    search: z
      .string()
      .min(1, 'must not be empty')
      .max(500, 'must be at most 500 characters')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the database cannot compare with NUL
      .regex(/^[^\u0000]*$/, 'must not contain NUL')
      .optional()
      .meta({ description: 'Part of the JSON text of the payload, any case.' }),
    excludeMetrics: Flag.optional().meta({ description: 'Leaves out events that only record a measure.' }),
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
  summary: 'Events that match, newest first.',
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
