import { Instant, JsonObject } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { ControlStateView } from './control-state.ts';
import { RUN_STATUSES } from './session.ts';

export const RunTotalsAnswer = z
  .object({
    events: z.int(),
    errors: z.int().meta({ description: 'Each event counts once, whatever makes it an error.' }),
    steps: z.int().meta({ description: 'Tool calls that came to an end.' }),
    toolCalls: z.int(),
    toolErrors: z.int(),
    llmCalls: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    totalTokens: z.int(),
    cacheReadTokens: z.int(),
    cacheWriteTokens: z.int(),
    costUsd: z.number(),
    unpricedCalls: z.int().meta({ description: 'Model calls whose cost is not known and not in costUsd.' }),
  })
  .meta({ id: 'RunTotals' });
export type RunTotalsAnswer = z.infer<typeof RunTotalsAnswer>;

export const Run = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    agentName: z.string().optional(),
    sessionId: z.string().optional().meta({ description: 'Groups runs, where the client says so.' }),
    parentRunId: z.string().optional(),
    parentToolUseId: z.string().optional(),
    status: z.enum(RUN_STATUSES),
    idle: z.boolean().meta({ description: 'Running, and nothing was heard of it for five minutes.' }),
    control: ControlStateView,
    startedAt: Instant,
    lastEventAt: Instant,
    endedAt: Instant.optional(),
    durationMs: z.int().meta({ description: 'Until its end, or until its last event.' }),
    step: z.int().meta({ description: 'The current step: tool calls that came to an end so far.' }),
    actor: JsonObject.optional().meta({ description: 'On whose behalf it runs; `externalId` is what to filter by.' }),
    model: z.string().optional(),
    provider: z.string().optional(),
    tags: z.array(z.string()).meta({ description: 'Of its events.' }),
    runTags: z.record(z.string(), z.string()).meta({ description: 'Of the run as a whole, by name.' }),
    ttlMs: z.int().optional(),
    heartbeatEveryMs: z.int().optional(),
    lastHeartbeatAt: Instant.optional(),
    totals: RunTotalsAnswer,
  })
  .meta({ id: 'Run' });
export type Run = z.infer<typeof Run>;
