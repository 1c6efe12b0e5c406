import { Instant, JsonObject } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { AlertView } from './alerts.operations.ts';
import { BreakerView } from './breakers.operations.ts';
import { ControlStateView, OrderView } from './control.operations.ts';
import { DecisionView } from './decisions.operations.ts';
import { RUN_STATUSES } from './sessions.operations.ts';
import { StoredEvent } from './events.operations.ts';
import { TriggerView } from './triggers.operations.ts';

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

/** What happened to an alert: it was opened, somebody looked at it, it came to its end, the approved call went ahead. */
const ALERT_MOMENTS = ['opened', 'acknowledged', 'decided', 'used'] as const;
export type AlertMoment = (typeof ALERT_MOMENTS)[number];

/** One thing that happened in or to a run. */
export const TimelineEntry = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('event'), at: Instant, event: StoredEvent }),
    z.object({ type: z.literal('decision'), at: Instant, decision: DecisionView }),
    z.object({ type: z.literal('trigger'), at: Instant, trigger: TriggerView }),
    z.object({ type: z.literal('alert'), at: Instant, moment: z.enum(ALERT_MOMENTS), alert: AlertView }),
    z.object({ type: z.literal('order'), at: Instant, order: OrderView }),
    z.object({ type: z.literal('breaker'), at: Instant, breaker: BreakerView }),
  ])
  .meta({ id: 'TimelineEntry' });
export type TimelineEntry = z.infer<typeof TimelineEntry>;

/** One thing of a run as a row of a long list shows it: what it was, not what the agent's events say. */
export const LightTimelineEntry = z
  .object({
    type: z.enum(['event', 'decision', 'trigger', 'alert', 'order', 'breaker']),
    at: Instant,
    id: z.string(),
    agentId: z.string().optional(),
    kind: z.string().optional().meta({ description: 'Of an event or alert; of a decision its phase.' }),
    name: z.string().optional().meta({ description: 'Tool, model, rule or title; else the name of the event type.' }),
    callId: z.string().optional(),
    isError: z.boolean().optional(),
    status: z.string().optional().meta({ description: 'Of an alert, an order, a breaker or the action of a trigger.' }),
    moment: z.enum(ALERT_MOMENTS).optional(),
    verdict: z.string().optional(),
    effect: z.string().optional().meta({ description: 'Of a decision: what was done to the call.' }),
    wouldHave: z.string().optional().meta({
      description: 'Of a decision: what would have been done with rules in shadow enforced too, where that is more.',
    }),
    control: z.string().optional().meta({ description: 'Of a decision: CONTINUE or TERMINATE.' }),
    reason: z.string().optional().meta({ description: 'Of a decision: what settled it.' }),
    approvalId: z.string().optional(),
    inputsDigest: z.string().optional().meta({ description: 'Of a decision: equal calls have equal ones.' }),
    message: z.string().optional().meta({
      description: 'Of a decision, trigger, order or breaker: what it said, its first 300 characters.',
    }),
    by: z.string().optional().meta({ description: 'Who gave the order.' }),
    durationMs: z.number().optional(),
    tokens: z.number().optional(),
    costUsd: z.number().optional(),
    contentExpired: z.literal(true).optional(),
  })
  .meta({ id: 'LightTimelineEntry' });
export type LightTimelineEntry = z.infer<typeof LightTimelineEntry>;
