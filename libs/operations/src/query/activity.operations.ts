import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, timeRange } from '../parameters.ts';

export const ACTIVITY_STEPS = ['1m', '5m', '15m', '1h', '6h', '1d'] as const;
export type ActivityStep = (typeof ACTIVITY_STEPS)[number];

export const ActivityQuery = consistent(
  z.object({
    ...timeRange,
    agentId: ClientId.optional(),
    step: z
      .enum(ACTIVITY_STEPS, `must be one of ${ACTIVITY_STEPS.join(', ')}`)
      .optional()
      .meta({ description: 'Width of a bucket. Default: such that the range has at most about 120 buckets.' }),
  }),
);
export type ActivityQuery = z.output<typeof ActivityQuery>;

const ActivityBucket = z
  .object({
    at: Instant.meta({ description: 'Start of the bucket.' }),
    events: z.int(),
    errors: z.int(),
    toolCalls: z.int(),
    modelCalls: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    costUsd: z.number(),
    decisions: z.int(),
    blocked: z.int(),
    askedHuman: z.int().meta({ description: 'Decisions whose call waits for approval; each call counts once.' }),
    bypassed: z.int().meta({ description: 'Decisions for which a rule could not be evaluated.' }),
    latencyP50Ms: z.number().nullable().meta({ description: 'Null: no decision.' }),
    latencyP99Ms: z.number().nullable(),
  })
  .meta({ id: 'ActivityBucket' });
export type ActivityBucket = z.infer<typeof ActivityBucket>;

export const getActivity = operation({
  id: 'getActivity',
  method: 'get',
  path: '/api/activity',
  tag: 'Analytics',
  summary:
    'Events, spend and decisions over time, from counts by minute (last 3 days) and hour (last 400 days). Buckets ' +
    'without activity are omitted. Default: the last hour.',
  scope: 'read',
  query: ActivityQuery,
  response: z.object({
    buckets: z.array(ActivityBucket),
    from: Instant,
    to: Instant,
    stepMs: z.int().meta({ description: 'Width of a bucket.' }),
  }),
});
