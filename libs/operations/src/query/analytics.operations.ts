import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, timeRange } from '../parameters.ts';

export const GRANULARITIES = ['hour', 'day', 'week'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

/** A range of time in buckets. */
const bucketedRange = {
  ...timeRange,
  granularity: z.enum(GRANULARITIES, `must be one of ${GRANULARITIES.join(', ')}`).default('day'),
};

export const AnalyticsQuery = consistent(z.object({ ...bucketedRange, agentId: ClientId.optional() }));
export type AnalyticsQuery = z.output<typeof AnalyticsQuery>;

const measures = {
  eventCount: z.int(),
  toolCallCount: z.int(),
  errorCount: z.int(),
  avgLatencyMs: z.number(),
  totalCostUsd: z.number().meta({ description: 'Cost of every event that has one, as in sessions and guardrails.' }),
  uniqueSessions: z.int(),
};

export const AnalyticsBucket = z.object({ timestamp: Instant, ...measures });

export const getAnalytics = operation({
  id: 'getAnalytics',
  method: 'get',
  path: '/api/analytics',
  tag: 'Analytics',
  summary: 'Totals of the range and of its hours, days or weeks (UTC, weeks from Monday); empty buckets are left out.',
  scope: 'read',
  query: AnalyticsQuery,
  response: z.object({
    buckets: z.array(AnalyticsBucket),
    totals: z.object({ ...measures, uniqueAgents: z.int() }),
    from: Instant,
    to: Instant,
    granularity: z.enum(GRANULARITIES),
  }),
});

export const getStats = operation({
  id: 'getStats',
  method: 'get',
  path: '/api/stats',
  tag: 'Analytics',
  summary: 'How much the tenant has stored.',
  scope: 'read',
  response: z.object({
    totalEvents: z.int(),
    totalSessions: z.int(),
    totalAgents: z.int(),
    oldestEvent: Instant.nullable(),
    newestEvent: Instant.nullable(),
    storageSizeBytes: z.int().meta({ description: 'Estimated from the size of the newest events.' }),
  }),
});

export const getStatsOverview = operation({
  id: 'getStatsOverview',
  method: 'get',
  path: '/api/stats/overview',
  tag: 'Analytics',
  summary: 'Today and yesterday (UTC), as clients of AgentLens read it; GET /api/overview has more.',
  scope: 'read',
  response: z.object({
    eventsTodayCount: z.int(),
    eventsYesterdayCount: z.int(),
    errorsTodayCount: z.int(),
    errorsYesterdayCount: z.int(),
    sessionsTodayCount: z.int(),
    sessionsYesterdayCount: z.int(),
    totalAgents: z.int(),
    errorRate: z.number(),
  }),
});

const Day = z.object({
  events: z.int(),
  errors: z.int(),
  sessions: z.int(),
  toolCalls: z.int(),
  llmCalls: z.int(),
  costUsd: z.number(),
});

export const getOverview = operation({
  id: 'getOverview',
  method: 'get',
  path: '/api/overview',
  tag: 'Analytics',
  summary: 'Today and yesterday (UTC) side by side.',
  scope: 'read',
  response: z.object({
    today: Day,
    yesterday: Day,
    errorRate: z.number().meta({ description: "Today's errors per event, 0 to 1." }),
    totalAgents: z.int(),
    activeAgents: z.int().meta({ description: 'Agents heard of today.' }),
    pausedAgents: z.int(),
  }),
});
