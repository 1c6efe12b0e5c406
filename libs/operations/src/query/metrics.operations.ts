import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { AnalyticsQuery, GRANULARITIES } from './analytics.operations.ts';

const Percentiles = z.object({ p50: z.number(), p95: z.number(), p99: z.number() }).nullable();

export const TaskMetrics = z
  .object({
    started: z.int().meta({ description: 'Runs that started in the range.' }),
    finished: z.int().meta({ description: 'Of those, the ones that are over, however.' }),
    succeeded: z.int(),
    successRate: z.number().nullable().meta({ description: 'Succeeded of finished; null where none is finished.' }),
    stepsPerTask: z.number().nullable().meta({ description: 'Tool calls that ended, per finished run.' }),
    durationMs: Percentiles.meta({ description: 'Of finished runs that said when they ended.' }),
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
    'How well tasks go and how tools and models behave: over the range, by hour, day or week, by agent, model and tool. ' +
    'Of agents, models and tools the 100 with the most.',
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
