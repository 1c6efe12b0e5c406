import type { Client } from '@agentlens/client';
import { z } from 'zod';
import { pick } from '../answer.ts';
import { AGENT, actionsWith, type McpTool, PAGE, RANGE, RULE, RUN, USUAL_LIMIT, words } from '../tool.ts';

type Run = Awaited<ReturnType<Client['listRuns']>>['runs'][number];
type Decision = Awaited<ReturnType<Client['listDecisions']>>['decisions'][number];

const fields = {
  ...RUN,
  ...AGENT,
  ...RULE,
  ...RANGE,
  ...PAGE,
  status: words.describe('e.g. running,failed'),
  model: z.string(),
  tag: words,
  minCostUsd: z.number().min(0),
  verdict: z.enum(['ALLOW', 'BLOCK']),
};
const action = actionsWith(fields);

export const runs: McpTool = {
  name: 'runs',
  title: 'Runs of agents',
  description: 'Runs, the timeline of a run, its sub-runs, and decisions about tool calls with their reasons.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['agentId', 'status', 'model', 'tag', 'ruleId', 'minCostUsd', 'from', 'to', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, tag, agentId, status, model, ruleId, minCostUsd, ...rest }) => ({
        ...{ list: 'runs', limit, summary: runSummary, path: '/runs' },
        ask: (most) =>
          client.listRuns({
            query: { agentId, status, model, ruleId, minCostUsd, ...between(rest), tags: tag, limit: most },
          }),
      }),
    }),
    get: action({
      scope: 'read',
      needs: ['runId'],
      run: async ({ client }, { runId }) => ({
        value: { run: await client.getRun({ params: { id: runId } }) },
        path: runPath(runId),
      }),
    }),
    timeline: action({
      scope: 'read',
      needs: ['runId'],
      takes: ['limit', 'cursor'],
      run: async ({ client }, { runId, cursor, limit = USUAL_LIMIT }) => ({
        ...{ list: 'entries', limit, path: runPath(runId) },
        ask: (most) => client.getRunTimeline({ params: { id: runId }, query: { cursor, limit: most } }),
      }),
    }),
    tree: action({
      scope: 'read',
      needs: ['runId'],
      run: async ({ client }, { runId }) => {
        const { runs: all, agents, truncated: more } = await client.getRunTree({ params: { id: runId } });
        const shown = all.map((run) => ({ ...runSummary(run), ...pick(run, 'depth', 'childCount', 'parentRunId') }));
        return { value: { runs: shown, agents, more }, path: runPath(runId) };
      },
    }),
    labels: action({
      scope: 'read',
      needs: ['runId'],
      run: async ({ client }, { runId }) => ({
        value: await client.getRunLabels({ params: { id: runId } }),
        path: runPath(runId),
      }),
    }),
    decisions: action({
      scope: 'read',
      takes: ['runId', 'agentId', 'ruleId', 'verdict', 'from', 'to', 'limit', 'cursor'],
      run: async ({ client }, { limit = USUAL_LIMIT, runId, agentId, ruleId, verdict, ...rest }) => ({
        ...{ list: 'decisions', limit, summary: decisionSummary, path: runId ? runPath(runId) : '/decisions' },
        ask: (most) =>
          client.listDecisions({ query: { runId, agentId, ruleId, verdict, ...between(rest), limit: most } }),
      }),
    }),
  },
};

function between({ from, to, cursor }: { from?: string; to?: string; cursor?: string }) {
  return { from, to, cursor };
}

function runSummary(run: Run) {
  const shown = pick(
    run,
    'id',
    'agentId',
    'status',
    'idle',
    'control',
    'startedAt',
    'endedAt',
    'durationMs',
    'step',
    'model',
  );
  return { ...shown, totals: pick(run.totals, 'toolCalls', 'toolErrors', 'llmCalls', 'totalTokens', 'costUsd') };
}

export function decisionSummary(decision: Decision) {
  return pick(
    decision,
    ...([
      'id',
      'runId',
      'agentId',
      'phase',
      'toolName',
      'callId',
      'verdict',
      'effect',
      'wouldHave',
      'cause',
      'message',
    ] as const),
    ...(['finalRuleId', 'approvalId', 'decidedAt'] as const),
  );
}

export function runPath(runId: string): string {
  return `/runs/${encodeURIComponent(runId)}`;
}
