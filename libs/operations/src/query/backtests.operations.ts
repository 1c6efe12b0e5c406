import { Backtest, BacktestDraft, BacktestExample } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { consistent, IdPath, paging } from '../parameters.ts';

export const BACKTESTS_LIST = 'backtests';
export const FINDINGS_LIST = 'backtest-findings';

const View = Backtest.meta({ id: 'Backtest' });
const at = { tag: 'Backtests', path: '/api/backtests/:id', params: IdPath } as const;

export const createBacktest = operation({
  id: 'createBacktest',
  method: 'post',
  path: '/api/backtests',
  tag: 'Backtests',
  summary: 'Queue a job that evaluates a draft or a version of a rule over stored history.',
  scope: ['admin', 'edit'],
  once: true,
  body: BacktestDraft.meta({ id: 'BacktestDraft' }),
  examples: {
    draft: {
      rule: {
        ...{ name: 'No deletions', conditionType: 'tool_name', conditionConfig: { value: 'delete_*' } },
        ...{ actionType: 'block', actionConfig: {} },
      },
      from: '2026-02-22T00:00:00Z',
    },
  },
  forwarded: true,
  status: 202,
  response: View,
  problems: [404, 422],
});

export const BacktestsFilter = consistent(z.object(paging(BACKTESTS_LIST, 100, 20)));
export type BacktestsFilter = z.output<typeof BacktestsFilter>;

export const listBacktests = operation({
  id: 'listBacktests',
  method: 'get',
  path: '/api/backtests',
  tag: 'Backtests',
  summary: 'Backtests of the last 30 days, newest first.',
  scope: 'read',
  query: BacktestsFilter,
  response: z.object({ backtests: z.array(View), hasMore: z.boolean(), nextCursor: z.string().optional() }),
});

export const getBacktest = operation({
  id: 'getBacktest',
  ...at,
  method: 'get',
  summary: 'Status, progress and result of a backtest.',
  scope: 'read',
  response: View,
  problems: [404],
});

export const cancelBacktest = operation({
  id: 'cancelBacktest',
  ...at,
  method: 'delete',
  summary: 'Cancel a backtest; what it found so far is kept. Cancelling again gives the same answer.',
  scope: ['admin', 'edit'],
  response: View,
  problems: [404],
});

export const FindingsFilter = consistent(
  z.object({
    kind: z.enum(['trigger', 'block', 'ask', 'modify', 'miss']).optional(),
    outcome: z.enum(['harmless', 'harmful', 'unknown']).optional().meta({
      description: '`harmless` with kind block or ask: false rejections.',
    }),
    day: z.iso.date().optional().meta({ description: 'UTC day.' }),
    limit: z.coerce.number().int().min(1).max(200).default(50),
    offset: z.coerce.number().int().min(0).max(10_000).default(0),
  }),
);
export type FindingsFilter = z.output<typeof FindingsFilter>;

export const listBacktestFindings = operation({
  id: 'listBacktestFindings',
  ...at,
  path: '/api/backtests/:id/findings',
  method: 'get',
  summary: 'What a finished backtest found, oldest first: at most 10,000 calls and triggers, and runs it missed.',
  scope: 'read',
  query: FindingsFilter,
  response: z.object({ findings: z.array(BacktestExample.meta({ id: 'BacktestFinding' })), total: z.int() }),
  problems: [404],
});
