import { Instant, JsonObject } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { AlertView } from './alerts.operations.ts';
import { BreakerView } from './breakers.operations.ts';
import { ControlStateView, OrderView } from './control.operations.ts';
import { DecisionView } from './decisions.operations.ts';
import { StoredEvent } from './events.operations.ts';
import { RUN_STATUSES } from './sessions.operations.ts';
import { TriggerView } from './triggers.operations.ts';

export const RunTotalsAnswer = z
  .object({
    events: z.int(),
    errors: z.int().meta({ description: 'Each event counts once.' }),
    steps: z.int().meta({ description: 'Finished tool calls.' }),
    toolCalls: z.int(),
    toolErrors: z.int(),
    llmCalls: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    totalTokens: z.int(),
    cacheReadTokens: z.int(),
    cacheWriteTokens: z.int(),
    costUsd: z.number(),
    unpricedCalls: z.int().meta({ description: 'Model calls without a known cost, not included in costUsd.' }),
  })
  .meta({ id: 'RunTotals' });
export type RunTotalsAnswer = z.infer<typeof RunTotalsAnswer>;

export const Run = z
  .object({
    id: z.string(),
    tenantId: z.string(),
    agentId: z.string(),
    agentName: z.string().optional(),
    sessionId: z.string().optional().meta({ description: 'Groups runs, if the client sets it.' }),
    parentRunId: z.string().optional(),
    parentToolUseId: z.string().optional(),
    status: z.enum(RUN_STATUSES),
    idle: z.boolean().meta({ description: 'Running without an event for five minutes.' }),
    control: ControlStateView,
    startedAt: Instant,
    lastEventAt: Instant,
    endedAt: Instant.optional(),
    durationMs: z.int().meta({ description: 'Until its end, or its last event.' }),
    step: z.int().meta({ description: 'Number of finished tool calls so far.' }),
    actor: JsonObject.optional().meta({ description: 'The end user; filter by its `externalId`.' }),
    model: z.string().optional(),
    provider: z.string().optional(),
    tags: z.array(z.string()).meta({ description: 'Tags of its events.' }),
    runTags: z.record(z.string(), z.string()).meta({ description: 'Tags of the run, by name.' }),
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
  step: z.int().meta({ description: 'Position among finished tool calls, from 1.' }),
  ok: z.boolean(),
  finishedAt: Instant,
  latencyMs: z.number().optional(),
  input: z.unknown().meta({ description: 'Arguments, if reported and small.' }),
  output: z.unknown().meta({ description: 'Result, if reported and small.' }),
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
 * Result of a run in the format of agent frameworks. While it runs, `success` is false, `finishedAt` null and there is
 * no error.
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
    actions: z.array(Action).meta({ description: 'Its first 200 tool calls, in order.' }),
    modelCalls: z.array(ModelCall).meta({ description: 'The first 200.' }),
    tokenUsage: z.object({
      input: z.int(),
      output: z.int(),
      total: z.int(),
      cacheRead: z.int(),
      cacheWrite: z.int(),
    }),
    costEstimate: z.number(),
    eventStream: z.string().meta({ description: 'Address of its events.' }),
    provenance: z.object({
      agentId: z.string(),
      agentName: z.string().optional(),
      parentRunId: z.string().optional(),
      actorId: z.string().optional(),
      models: z.array(z.object({ model: z.string(), provider: z.string().nullable(), calls: z.int() })),
    }),
    diagnostics: z.object({ warnings: z.array(z.string()) }),
    aborted: z.boolean().meta({ description: 'Cancelled, interrupted or lost.' }),
    metrics: z.object({
      durationMs: z.int(),
      toolLatencyMs: z.record(z.string(), z.number()).meta({ description: 'Mean by tool.' }),
    }),
  })
  .meta({ id: 'AgentResult' });
export type AgentResult = z.infer<typeof AgentResult>;

/** Changes of an alert: opened, acknowledged, decided, and the approved call used. */
const ALERT_MOMENTS = ['opened', 'acknowledged', 'decided', 'used'] as const;
export type AlertMoment = (typeof ALERT_MOMENTS)[number];

/** An entry of a run's timeline. */
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

/** A timeline entry without event contents, for long lists. */
export const LightTimelineEntry = z
  .object({
    type: z.enum(['event', 'decision', 'trigger', 'alert', 'order', 'breaker']),
    at: Instant,
    id: z.string(),
    agentId: z.string().optional(),
    kind: z.string().optional().meta({ description: 'Kind of the event or alert; phase of the decision.' }),
    name: z.string().optional().meta({ description: 'Tool, model, rule or title; otherwise the event type.' }),
    callId: z.string().optional(),
    isError: z.boolean().optional(),
    status: z.string().optional().meta({ description: 'Status of an alert, order, breaker or trigger action.' }),
    moment: z.enum(ALERT_MOMENTS).optional(),
    verdict: z.string().optional(),
    effect: z.string().optional().meta({ description: 'Decision: effect on the call.' }),
    wouldHave: z.string().optional().meta({
      description: 'Decision: effect with shadow rules enforced, if more severe.',
    }),
    control: z.string().optional().meta({ description: 'Decision: CONTINUE or TERMINATE.' }),
    reason: z.string().optional().meta({ description: 'Decision: what decided.' }),
    approvalId: z.string().optional(),
    askedTimes: z.int().optional().meta({
      description: 'Decision: how often the call was asked while it waited for approval, if more than once.',
    }),
    inputsDigest: z.string().optional().meta({ description: 'Decision: digest of the arguments.' }),
    message: z.string().optional().meta({
      description: 'Decision, trigger, order or breaker: its message, up to 300 characters.',
    }),
    summary: z.string().optional().meta({
      description: 'Decision: texts and numbers among the arguments, shortest first, up to 90 characters.',
    }),
    by: z.string().optional().meta({ description: 'Author of the order.' }),
    durationMs: z.number().optional(),
    tokens: z.number().optional(),
    costUsd: z.number().optional(),
    contentExpired: z.literal(true).optional(),
  })
  .meta({ id: 'LightTimelineEntry' });
export type LightTimelineEntry = z.infer<typeof LightTimelineEntry>;
