import { z } from 'zod';
import type { Run } from './run-view.ts';

const Action = z.object({
  tool: z.string(),
  callId: z.string().optional(),
  step: z.int().meta({ description: 'Its place among the tool calls that ended, from 1.' }),
  ok: z.boolean(),
  finishedAt: z.string(),
  latencyMs: z.number().optional(),
  input: z.unknown().meta({ description: 'Its arguments, where they were reported and are small.' }),
  output: z.unknown().meta({ description: 'Its result, where it was reported and is small.' }),
  error: z.string().optional(),
  eventId: z.string(),
});

const ModelCall = z.object({
  model: z.string().optional(),
  provider: z.string().optional(),
  at: z.string(),
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
    startedAt: z.string(),
    finishedAt: z.string().nullable(),
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

/** Tool and model calls listed at most, each. */
export const MOST_LISTED = 200;

/** A tool or model call that ended, in order of time. `input` is what the call that began it said. */
export interface EndedCall {
  readonly eventId: string;
  readonly at: string;
  readonly kind: 'tool.completed' | 'llm.completed';
  readonly toolName: string | null;
  readonly callId: string | null;
  readonly isError: boolean;
  readonly latencyMs: number | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
  readonly input: unknown;
  readonly output: unknown;
  readonly error: string | null;
}

export interface RunStory {
  readonly run: Run;
  readonly result: unknown;
  readonly errorMessage: string | null;
  readonly tools: readonly ToolTotals[];
  readonly models: AgentResult['provenance']['models'];
  readonly calls: readonly EndedCall[];
}

const ABORTED: readonly string[] = ['cancelled', 'interrupted', 'lost', 'timed_out'];

const WHY: Readonly<Record<string, string>> = {
  failed: 'The run failed',
  timed_out: 'The run took longer than it may',
  cancelled: 'The run was cancelled',
  interrupted: 'The run was interrupted',
  lost: 'The run was not heard of any more',
};

export function agentResult(story: RunStory): AgentResult {
  const { run, tools, models } = story;
  const { totals } = run;
  const actions = story.calls.filter(({ kind }) => kind === 'tool.completed').map(actionOf);
  const modelCalls = story.calls.filter(({ kind }) => kind === 'llm.completed').map(modelCallOf);
  const isOver = run.status !== 'running';
  return {
    id: run.id,
    ...present({ sessionId: run.sessionId }),
    success: run.status === 'succeeded',
    result: story.result ?? null,
    ...(isOver && run.status !== 'succeeded'
      ? { error: { message: story.errorMessage ?? WHY[run.status] ?? 'The run failed', code: run.status } }
      : {}),
    startedAt: run.startedAt,
    finishedAt: run.endedAt ?? null,
    steps: totals.steps,
    actions: actions.slice(0, MOST_LISTED),
    modelCalls: modelCalls.slice(0, MOST_LISTED),
    tokenUsage: {
      input: totals.inputTokens,
      output: totals.outputTokens,
      total: totals.totalTokens,
      cacheRead: totals.cacheReadTokens,
      cacheWrite: totals.cacheWriteTokens,
    },
    costEstimate: totals.costUsd,
    eventStream: `/api/runs/${encodeURIComponent(run.id)}/events`,
    provenance: {
      agentId: run.agentId,
      ...present({
        agentName: run.agentName,
        parentRunId: run.parentRunId,
        actorId: run.actor?.externalId as string | undefined,
      }),
      models,
    },
    diagnostics: { warnings: warningsOf(story) },
    aborted: ABORTED.includes(run.status),
    metrics: {
      durationMs: run.durationMs,
      toolLatencyMs: Object.fromEntries(
        tools.flatMap(({ tool, latencyMs }) => (latencyMs === null ? [] : [[tool, latencyMs.mean] as const])),
      ),
    },
  };
}

function actionOf(call: EndedCall, index: number): AgentResult['actions'][number] {
  return {
    tool: call.toolName ?? 'unknown',
    ...present({ callId: call.callId }),
    step: index + 1,
    ok: !call.isError,
    finishedAt: call.at,
    ...present({ latencyMs: call.latencyMs }),
    input: call.input ?? null,
    output: call.output ?? null,
    ...present({ error: call.isError ? call.error : null }),
    eventId: call.eventId,
  };
}

function modelCallOf(call: EndedCall): AgentResult['modelCalls'][number] {
  const { model, provider, latencyMs, inputTokens, outputTokens, costUsd } = call;
  return {
    ...present({ model, provider }),
    at: call.at,
    ok: !call.isError,
    ...present({ latencyMs, inputTokens, outputTokens, costUsd }),
    eventId: call.eventId,
  };
}

function warningsOf({ run, calls }: RunStory): string[] {
  const { totals } = run;
  const warnings: string[] = [];
  if (totals.unpricedCalls > 0) warnings.push(`The cost of ${totals.unpricedCalls} model calls is not known`);
  const ended = (kind: EndedCall['kind']) => calls.filter((call) => call.kind === kind).length;
  if (totals.steps > ended('tool.completed') || ended('tool.completed') > MOST_LISTED) {
    warnings.push(
      `Only the first ${Math.min(MOST_LISTED, ended('tool.completed'))} of ${totals.steps} actions are listed`,
    );
  }
  if (ended('llm.completed') > MOST_LISTED) warnings.push(`Only the first ${MOST_LISTED} model calls are listed`);
  if (run.idle) warnings.push('Nothing was heard of the run for a while');
  return warnings;
}

function present<T extends Record<string, unknown>>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const told = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(told) as { [K in keyof T]?: NonNullable<T[K]> };
}
