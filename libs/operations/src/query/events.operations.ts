import { ClientId } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { CommaList, consistent, Flag, IdPath, paging, SeverityList, timeRange } from '../parameters.ts';
import { Total } from '../total.ts';
import { StoredEvent } from './stored-event.ts';

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

export const EventPage = z.object({
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
