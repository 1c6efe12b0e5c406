import type { RunAnswer } from '../../api-types.ts';
import { duration, instant, usd } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

export const RUN_COLUMNS: readonly Column<RunAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'status', value: ({ status, idle }) => (idle ? `${status} (idle)` : status), tone: toneOf },
  { title: 'started', value: ({ startedAt }) => instant(startedAt) },
  { title: 'took', value: ({ durationMs }) => duration(durationMs), align: 'right' },
  { title: 'steps', value: ({ totals }) => totals.steps, align: 'right' },
  { title: 'errors', value: ({ totals }) => totals.errors, align: 'right' },
  { title: 'cost', value: ({ totals }) => usd(totals.costUsd), align: 'right' },
];
