import type { AgentResult, Run, ToolTotals } from '@agentlens/operations';

/** Maximum number of listed tool calls and of listed model calls. */
export const MAX_LISTED = 200;

/** A finished tool or model call, in order of time. `input` comes from the event that started the call. */
export interface AgentResultCall {
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

export interface AgentResultStory {
  readonly run: Run;
  readonly result: unknown;
  readonly errorMessage: string | null;
  readonly tools: readonly ToolTotals[];
  readonly models: AgentResult['provenance']['models'];
  readonly calls: readonly AgentResultCall[];
}

const ABORTED: readonly string[] = ['cancelled', 'interrupted', 'lost', 'timed_out', 'killed'];

const WHY: Readonly<Record<string, string>> = {
  failed: 'The run failed',
  timed_out: 'The run exceeded its time limit',
  cancelled: 'The run was cancelled',
  interrupted: 'The run was interrupted',
  lost: 'The run stopped reporting',
  killed: 'The run was killed',
};

export function agentResult(story: AgentResultStory): AgentResult {
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
    actions: actions.slice(0, MAX_LISTED),
    modelCalls: modelCalls.slice(0, MAX_LISTED),
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

function actionOf(call: AgentResultCall, index: number): AgentResult['actions'][number] {
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

function modelCallOf(call: AgentResultCall): AgentResult['modelCalls'][number] {
  const { model, provider, latencyMs, inputTokens, outputTokens, costUsd } = call;
  return {
    ...present({ model, provider }),
    at: call.at,
    ok: !call.isError,
    ...present({ latencyMs, inputTokens, outputTokens, costUsd }),
    eventId: call.eventId,
  };
}

function warningsOf({ run, calls }: AgentResultStory): string[] {
  const { totals } = run;
  const warnings: string[] = [];
  if (totals.unpricedCalls > 0) warnings.push(`The cost of ${totals.unpricedCalls} model calls is not known`);
  const ended = (kind: AgentResultCall['kind']) => calls.filter((call) => call.kind === kind).length;
  if (totals.steps > ended('tool.completed') || ended('tool.completed') > MAX_LISTED) {
    warnings.push(
      `Only the first ${Math.min(MAX_LISTED, ended('tool.completed'))} of ${totals.steps} actions are listed`,
    );
  }
  if (ended('llm.completed') > MAX_LISTED) warnings.push(`Only the first ${MAX_LISTED} model calls are listed`);
  if (run.idle) warnings.push('The run has not reported for a while');
  return warnings;
}

function present<T extends Record<string, unknown>>(members: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const known = Object.entries(members).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(known) as { [K in keyof T]?: NonNullable<T[K]> };
}
