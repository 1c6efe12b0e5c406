import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, wholeNumber } from '../parameters.ts';
import { AnalyticsQuery } from './analytics.operations.ts';

const TAG = 'Analytics';

const tokens = { totalInputTokens: z.int(), totalOutputTokens: z.int(), totalTokens: z.int() };
const spent = { totalCostUsd: z.number(), ...tokens };

export const getCosts = operation({
  id: 'getCosts',
  method: 'get',
  path: '/api/analytics/costs',
  tag: TAG,
  summary: 'Cost by agent and over time (UTC).',
  scope: 'read',
  query: AnalyticsQuery,
  response: z.object({
    byAgent: z.array(z.object({ agentId: z.string(), ...spent, eventCount: z.int() })).meta({
      description: 'Agents with the highest cost first, at most 500.',
    }),
    overTime: z.array(
      z.object({
        bucket: Instant,
        totalCostUsd: z.number(),
        eventCount: z.int(),
        byAgent: z.record(z.string(), z.number()),
      }),
    ),
    totals: z.object(spent),
  }),
});

const ofCalls = {
  calls: z.int(),
  costUsd: z.number(),
  inputTokens: z.int(),
  outputTokens: z.int(),
  avgLatencyMs: z.number(),
};

export const getLlmAnalytics = operation({
  id: 'getLlmAnalytics',
  method: 'get',
  path: '/api/analytics/llm',
  tag: TAG,
  summary: 'Model calls in total, by model and over time (UTC).',
  scope: 'read',
  query: consistent(z.object({ ...AnalyticsQuery.shape, model: ClientId.optional(), provider: ClientId.optional() })),
  response: z.object({
    summary: z.object({
      totalCalls: z.int(),
      totalCostUsd: z.number(),
      totalInputTokens: z.int(),
      totalOutputTokens: z.int(),
      avgLatencyMs: z.number(),
      avgCostPerCall: z.number(),
    }),
    byModel: z.array(z.object({ provider: z.string(), model: z.string(), ...ofCalls })),
    byTime: z.array(z.object({ bucket: Instant, ...ofCalls })),
  }),
});

export const SPEND_GROUPS = ['agent', 'model', 'day', 'session', 'actor'] as const;
export type SpendGroup = (typeof SPEND_GROUPS)[number];

const SERIES_GROUPS = ['agent', 'model', 'user'] as const;
export type SeriesGroup = (typeof SERIES_GROUPS)[number];

export const getSpendSeries = operation({
  id: 'getSpendSeries',
  method: 'get',
  path: '/api/spend/series',
  tag: TAG,
  summary: 'Spend over time (UTC) by agent, model or end user; empty buckets are omitted.',
  scope: 'read',
  query: consistent(
    z.object({
      ...AnalyticsQuery.shape,
      by: z.enum(SERIES_GROUPS, `must be one of ${SERIES_GROUPS.join(', ')}`).default('agent'),
    }),
  ),
  response: z.object({
    by: z.enum(SERIES_GROUPS),
    from: Instant,
    to: Instant,
    keys: z.array(z.string()).meta({
      description: 'Those with the highest spend, at most 8; `*` for all others, empty for events without one.',
    }),
    buckets: z.array(
      z.object({ at: Instant, costUsd: z.array(z.number()).meta({ description: 'In the order of `keys`.' }) }),
    ),
  }),
});

export const getSpend = operation({
  id: 'getSpend',
  method: 'get',
  path: '/api/spend',
  tag: TAG,
  summary: 'Spend by agent, model, day, session or end user, and models without a known price.',
  scope: 'read',
  query: consistent(
    z.object({
      ...AnalyticsQuery.shape,
      by: z.enum(SPEND_GROUPS, `must be one of ${SPEND_GROUPS.join(', ')}`).default('agent'),
      limit: wholeNumber(1, 500, 100),
    }),
  ),
  response: z.object({
    by: z.enum(SPEND_GROUPS),
    from: Instant,
    to: Instant,
    groups: z
      .array(
        z.object({
          key: z.string().meta({
            description:
              'Agent, model, UTC day, session or `externalId` of the end user; empty if the events have none.',
          }),
          costUsd: z.number(),
          inputTokens: z.int(),
          outputTokens: z.int(),
          calls: z.int(),
          unpriced: z.int().meta({ description: 'Calls without a known cost, not included in `costUsd`.' }),
        }),
      )
      .meta({ description: 'Highest first; days in order.' }),
    unpriced: z
      .array(
        z.object({
          provider: z.string(),
          model: z.string(),
          calls: z.int(),
          inputTokens: z.int(),
          outputTokens: z.int(),
          lastAt: Instant,
        }),
      )
      .meta({ description: 'Models without a price, most called first.' }),
  }),
});
