import { AgentResult } from '@agentlens/operations';
import { describe, expect, it } from '@jest/globals';
import { type AgentResultCall, type AgentResultStory, agentResult, MAX_LISTED } from './agent-result.ts';
import { aRun, NO_TOTALS } from './run.testing.ts';

function aCall(fields: Partial<AgentResultCall> = {}): AgentResultCall {
  return {
    eventId: 'e',
    at: '2026-03-01T12:00:01.000Z',
    kind: 'tool.completed',
    toolName: 'search',
    callId: 'call-1',
    isError: false,
    latencyMs: 12,
    model: null,
    provider: null,
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    input: { q: 'x' },
    output: { n: 1 },
    error: null,
    ...fields,
  };
}

function resultOf(fields: Partial<AgentResultStory> = {}): AgentResult {
  return agentResult({ run: aRun(), result: null, errorMessage: null, tools: [], models: [], calls: [], ...fields });
}

describe('agent result', () => {
  it('summarizes a finished run', () => {
    const totals = { ...NO_TOTALS, steps: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15, costUsd: 0.5 };
    const latencyMs = { mean: 12, p50: 12, p95: 12, max: 12 };
    const result = resultOf({
      run: aRun({ id: 'a/b', sessionId: 'group', parentRunId: 'parent', actor: { externalId: 'ann' }, totals }),
      result: { answer: 42 },
      tools: [{ tool: 'search', calls: 1, errors: 0, errorRate: 0, latencyMs }],
      models: [{ model: 'm', provider: 'p', calls: 1 }],
      calls: [aCall(), aCall({ kind: 'llm.completed', eventId: 'l', model: 'm', inputTokens: 10, costUsd: 0.5 })],
    });
    expect(AgentResult.parse(result)).toEqual(result);
    expect(result).toMatchObject({
      success: true,
      result: { answer: 42 },
      finishedAt: '2026-03-01T12:00:05.000Z',
      steps: 1,
      actions: [{ tool: 'search', step: 1, ok: true, input: { q: 'x' }, output: { n: 1 } }],
      modelCalls: [{ model: 'm', inputTokens: 10, costUsd: 0.5 }],
      tokenUsage: { input: 10, output: 5, total: 15 },
      costEstimate: 0.5,
      eventStream: '/api/runs/a%2Fb/events',
      provenance: { parentRunId: 'parent', actorId: 'ann', models: [{ model: 'm' }] },
      metrics: { durationMs: 5_000, toolLatencyMs: { search: 12 } },
      aborted: false,
    });
    expect(result.error).toBeUndefined();
  });

  it.each([
    ['failed', false],
    ['timed_out', true],
    ['cancelled', true],
    ['interrupted', true],
    ['lost', true],
  ] as const)('of a run that is %s reports failure with the reason', (status, aborted) => {
    const result = resultOf({ run: aRun({ status }) });
    expect(result).toMatchObject({ success: false, aborted, error: { code: status, message: expect.any(String) } });
    expect(resultOf({ run: aRun({ status }), errorMessage: 'no money' }).error?.message).toBe('no money');
  });

  it('of a running run has neither an end nor an error', () => {
    const { endedAt: _, ...running } = aRun({ status: 'running' });
    expect(resultOf({ run: running })).toMatchObject({ success: false, finishedAt: null, aborted: false });
    expect(resultOf({ run: running }).error).toBeUndefined();
  });

  it('keeps the error of a failed action and omits it for a successful one', () => {
    const calls = [aCall({ isError: true, error: 'boom', output: null }), aCall({ error: 'ignored' })];
    const { actions } = resultOf({ calls });
    expect(actions.map(({ ok, error }) => [ok, error])).toEqual([
      [false, 'boom'],
      [true, undefined],
    ]);
  });

  it('limits the listed actions and reports that there are more', () => {
    const calls = Array.from({ length: MAX_LISTED + 1 }, () => aCall());
    const totals = { ...NO_TOTALS, steps: 500, unpricedCalls: 2 };
    const { actions, diagnostics } = resultOf({ run: aRun({ totals }), calls });
    expect(actions).toHaveLength(MAX_LISTED);
    expect(diagnostics.warnings).toEqual([
      'The cost of 2 model calls is not known',
      'Only the first 200 of 500 actions are listed',
    ]);
  });
});
