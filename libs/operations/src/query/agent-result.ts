import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

const Action = z.object({
  tool: z.string(),
  callId: z.string().optional(),
  step: z.int().meta({ description: 'Its place among the tool calls that ended, from 1.' }),
  ok: z.boolean(),
  finishedAt: Instant,
  latencyMs: z.number().optional(),
  input: z.unknown().meta({ description: 'Its arguments, where they were reported and are small.' }),
  output: z.unknown().meta({ description: 'Its result, where it was reported and is small.' }),
  error: z.string().optional(),
  eventId: z.string(),
});

const ModelCall = z.object({
  model: z.string().optional(),
  provider: z.string().optional(),
  at: Instant,
  ok: z.boolean(),
  latencyMs: z.number().optional(),
  inputTokens: z.int().optional(),
  outputTokens: z.int().optional(),
  costUsd: z.number().optional(),
  eventId: z.string(),
});

export const ToolTotals = z.object({
  tool: z.string(),
  calls: z.int(),
  errors: z.int(),
  errorRate: z.number(),
  latencyMs: z.object({ mean: z.number(), p50: z.number(), p95: z.number(), max: z.number() }).nullable(),
});
export type ToolTotals = z.infer<typeof ToolTotals>;

/**
 * What a run came to, in the shape agent frameworks answer with. While it runs, `success` is false, `finishedAt` null and
 * there is no error.
 */
export const AgentResult = z
  .object({
    id: z.string(),
    sessionId: z.string().optional(),
    success: z.boolean(),
    result: z.unknown(),
    error: z.object({ message: z.string(), code: z.string() }).optional(),
    startedAt: Instant,
    finishedAt: Instant.nullable(),
    steps: z.int(),
    actions: z.array(Action).meta({ description: 'Its tool calls in order; the first 200.' }),
    modelCalls: z.array(ModelCall).meta({ description: 'The first 200.' }),
    tokenUsage: z.object({
      input: z.int(),
      output: z.int(),
      total: z.int(),
      cacheRead: z.int(),
      cacheWrite: z.int(),
    }),
    costEstimate: z.number(),
    eventStream: z.string().meta({ description: 'Where its events are read.' }),
    provenance: z.object({
      agentId: z.string(),
      agentName: z.string().optional(),
      parentRunId: z.string().optional(),
      actorId: z.string().optional(),
      models: z.array(z.object({ model: z.string(), provider: z.string().nullable(), calls: z.int() })),
    }),
    diagnostics: z.object({ warnings: z.array(z.string()) }),
    aborted: z.boolean().meta({ description: 'It was cancelled or interrupted, or nobody knows how it ended.' }),
    metrics: z.object({
      durationMs: z.int(),
      toolLatencyMs: z.record(z.string(), z.number()).meta({ description: 'Mean, by tool.' }),
    }),
  })
  .meta({ id: 'AgentResult' });
export type AgentResult = z.infer<typeof AgentResult>;
