import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, Total } from '../operation.ts';
import { CommaList, commaListOf, consistent, Flag, IdPath, paging, timeRange } from '../parameters.ts';
import { StoredEvent } from './events.operations.ts';

const SESSION_STATUSES = ['active', 'idle', 'completed', 'error'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const RUN_STATUSES = [
  'running',
  'succeeded',
  'failed',
  'timed_out',
  'cancelled',
  'interrupted',
  'lost',
  'killed',
] as const;

export const Session = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    agentName: z.string().optional(),
    startedAt: Instant,
    endedAt: Instant.optional(),
    status: z.enum(SESSION_STATUSES),
    runStatus: z.enum(RUN_STATUSES).meta({ description: 'Exact status, of which `status` is a summary.' }),
    lastEventAt: Instant,
    eventCount: z.int(),
    toolCallCount: z.int(),
    errorCount: z.int().meta({ description: 'Each event counts once.' }),
    totalCostUsd: z.number(),
    unpricedCount: z.int().meta({ description: 'Model calls without a known cost, not included in totalCostUsd.' }),
    llmCallCount: z.int(),
    totalInputTokens: z.int(),
    totalOutputTokens: z.int(),
    totalTokens: z.int(),
    tags: z.array(z.string()),
    model: z.string().optional(),
    provider: z.string().optional(),
    groupId: z.string().optional().meta({ description: 'Groups runs, if the client sets it.' }),
    parentSessionId: z.string().optional(),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof Session>;

export const SESSIONS_LIST = 'sessions';
export const TIMELINE = 'timeline';

export const SessionFilter = consistent(
  z.object({
    agentId: ClientId.optional(),
    status: commaListOf(SESSION_STATUSES).optional(),
    ...timeRange,
    tags: CommaList.optional().meta({ description: 'Comma-separated list; sessions with any of them match.' }),
    countOnly: Flag.optional().meta({ description: 'Answers `{count}` alone.' }),
    ...paging(SESSIONS_LIST, 500),
  }),
);
export type SessionFilter = z.output<typeof SessionFilter>;

const SessionPage = z.object({
  sessions: z.array(Session),
  ...Total,
  hasMore: z.boolean(),
  nextCursor: z.string().optional(),
});

export const listSessions = operation({
  id: 'listSessions',
  method: 'get',
  path: '/api/sessions',
  tag: 'Sessions',
  summary: 'Sessions (runs) that started in the range, newest first.',
  scope: 'read',
  query: SessionFilter,
  response: z.union([SessionPage, z.object({ count: z.int() })]),
});

export const getSession = operation({
  id: 'getSession',
  method: 'get',
  path: '/api/sessions/:id',
  tag: 'Sessions',
  summary: 'One session.',
  scope: 'read',
  params: IdPath,
  response: Session,
  problems: [404],
});

export const TimelineQuery = consistent(z.object(paging(TIMELINE, 1000, 1000)));
export type TimelineQuery = z.output<typeof TimelineQuery>;

export const getSessionTimeline = operation({
  id: 'getSessionTimeline',
  method: 'get',
  path: '/api/sessions/:id/timeline',
  tag: 'Sessions',
  summary: 'Events of a session, oldest first.',
  scope: 'read',
  params: IdPath,
  query: TimelineQuery,
  response: z.object({
    events: z.array(StoredEvent),
    hasMore: z.boolean(),
    nextCursor: z.string().optional(),
    chained: z.literal(false).meta({ description: 'Events are hashed individually; there is no chain.' }),
    chainValid: z.literal(true).meta({
      description: 'Always true, because existing clients expect a boolean: there is no chain that could break.',
    }),
  }),
  problems: [404],
});
