import type { Run, RunTotalsAnswer } from '@agentlens/operations';

export const NO_TOTALS: RunTotalsAnswer = {
  events: 0,
  errors: 0,
  steps: 0,
  toolCalls: 0,
  toolErrors: 0,
  llmCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
  unpricedCalls: 0,
};

export function aRun(fields: Partial<Run> = {}): Run {
  return {
    id: 'run',
    tenantId: 'acme',
    agentId: 'agent',
    status: 'succeeded',
    control: { state: 'running' },
    idle: false,
    startedAt: '2026-03-01T12:00:00.000Z',
    lastEventAt: '2026-03-01T12:00:05.000Z',
    endedAt: '2026-03-01T12:00:05.000Z',
    durationMs: 5_000,
    step: 0,
    tags: [],
    runTags: {},
    totals: NO_TOTALS,
    ...fields,
  };
}
