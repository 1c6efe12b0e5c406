import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, timeRange } from '../parameters.ts';

const GRANULARITIES = ['hour', 'day', 'week'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

/** A time range divided into buckets. */
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
  totalCostUsd: z.number().meta({ description: 'Cost of every event with a cost, as in sessions and guardrails.' }),
  uniqueSessions: z.int(),
};

const AnalyticsBucket = z.object({ timestamp: Instant, ...measures });

export const getAnalytics = operation({
  id: 'getAnalytics',
  method: 'get',
  path: '/api/analytics',
  tag: 'Analytics',
  summary: 'Totals of the range and of its hours, days or weeks (UTC, weeks from Monday); empty buckets are omitted.',
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
  summary: 'Storage used by the tenant.',
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
  summary: 'Today and yesterday (UTC), for AgentLens clients; GET /api/overview has more.',
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
  summary: 'Today and yesterday (UTC).',
  scope: 'read',
  response: z.object({
    today: Day,
    yesterday: Day,
    errorRate: z.number().meta({ description: 'Errors per event today, 0 to 1.' }),
    totalAgents: z.int(),
    activeAgents: z.int().meta({ description: 'Agents active today.' }),
    pausedAgents: z.int(),
  }),
});

const Percentiles = z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable();

export const TaskMetrics = z
  .object({
    started: z.int().meta({ description: 'Runs that started in the range.' }),
    finished: z.int().meta({ description: 'Those that have ended, with any status.' }),
    succeeded: z.int(),
    successRate: z
      .number()
      .nullable()
      .meta({ description: 'Succeeded divided by finished; null if none has finished.' }),
    stepsPerTask: z.number().nullable().meta({ description: 'Finished tool calls per finished run.' }),
    durationMs: Percentiles.meta({ description: 'Duration of finished runs that reported an end.' }),
    inputTokens: z.int(),
    outputTokens: z.int(),
    totalTokens: z.int(),
    cacheReadTokens: z.int(),
    cacheWriteTokens: z.int(),
    costUsd: z.number(),
  })
  .meta({ id: 'TaskMetrics' });
export type TaskMetrics = z.infer<typeof TaskMetrics>;

export const CallMetrics = z
  .object({
    calls: z.int().meta({ description: 'Calls that ended in the range.' }),
    errors: z.int(),
    errorRate: z.number().nullable(),
    latencyMs: Percentiles,
  })
  .meta({ id: 'CallMetrics' });
export type CallMetrics = z.infer<typeof CallMetrics>;

export const getMetrics = operation({
  id: 'getMetrics',
  method: 'get',
  path: '/api/metrics',
  tag: 'Analytics',
  summary:
    'Success, and behaviour of tools and models: over the range, by hour, day or week, by agent, model and tool. ' +
    'At most 100 agents, models and tools, the largest first.',
  scope: 'read',
  query: AnalyticsQuery,
  response: z.object({
    from: Instant,
    to: Instant,
    granularity: z.enum(GRANULARITIES),
    tasks: TaskMetrics,
    toolCalls: CallMetrics,
    buckets: z.array(z.object({ timestamp: Instant, tasks: TaskMetrics, toolCalls: CallMetrics })),
    agents: z.array(z.object({ agentId: z.string(), tasks: TaskMetrics, toolCalls: CallMetrics })),
    models: z.array(
      z.object({
        model: z.string(),
        provider: z.string().nullable(),
        calls: CallMetrics,
        inputTokens: z.int(),
        outputTokens: z.int(),
        costUsd: z.number(),
      }),
    ),
    tools: z.array(z.object({ tool: z.string(), calls: CallMetrics })),
  }),
});
