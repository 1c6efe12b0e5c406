import { ClientId, Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, paging, timeRange } from '../parameters.ts';

export const MODEL_CALLS_LIST = 'model-calls';

export const GatewayModelCall = z
  .object({
    id: z.string().meta({ description: 'Id of the call, as in the header `x-agentlens-call`.' }),
    eventId: z.string().meta({ description: 'The event `llm_response` that it was recorded with.' }),
    at: Instant.meta({ description: 'When the answer ended.' }),
    runId: z.string(),
    agentId: z.string(),
    connection: z.string().meta({ description: 'The one that answered.' }),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    outcome: z.string().meta({ description: '`completed`, or why the answer is not whole.' }),
    finishReason: z.string().nullable().meta({ description: 'As the provider said.' }),
    status: z.int().nullable().meta({ description: 'HTTP status of a provider that refused.' }),
    stopReason: z.string().nullable().meta({ description: 'Why AgentLens ended the answer.' }),
    usageSource: z.string().nullable().meta({ description: '`provider`, `partial`, `counted` or `estimated`.' }),
    inputTokens: z.number().nullable(),
    outputTokens: z.number().nullable(),
    costUsd: z.number().nullable(),
    firstByteMs: z.number().nullable(),
    latencyMs: z.number().nullable(),
    toolCalls: z.int(),
    failedAttempts: z
      .array(
        z.object({
          connection: z.string(),
          provider: z.string(),
          problem: z.string().meta({ description: 'Such as `status 503`.' }),
          tookMs: z.number(),
        }),
      )
      .meta({ description: 'Connections that gave no answer, before the fallback got the call.' }),
  })
  .meta({ id: 'ModelCall' });
export type GatewayModelCall = z.infer<typeof GatewayModelCall>;

export const ModelCallFilter = consistent(
  z.object({
    runId: ClientId.optional(),
    agentId: ClientId.optional(),
    model: z.string().min(1).max(256).optional(),
    connection: z.string().min(1).max(100).optional(),
    show: z.enum(['all', 'incomplete']).default('all').meta({
      description: '`incomplete`: calls that were stopped, failed, or left by the client.',
    }),
    ...timeRange,
    ...paging(MODEL_CALLS_LIST, 200),
  }),
);
export type ModelCallFilter = z.output<typeof ModelCallFilter>;

export const listModelCalls = operation({
  id: 'listModelCalls',
  method: 'get',
  path: '/api/model-calls',
  tag: 'Model connections',
  summary: 'Calls that went through the model gateway, newest first. Refused calls were never sent: see decisions.',
  scope: 'read',
  query: ModelCallFilter,
  response: z.object({ calls: z.array(GatewayModelCall), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});
