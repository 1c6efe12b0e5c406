import type { AnswerOf } from '../../api-types.ts';
import { instant } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

export const DELIVERY_COLUMNS: readonly Column<AnswerOf<'listDeliveries'>['deliveries'][number]>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'result', value: ({ result }) => result, tone: toneOf },
  { title: 'action', value: ({ actionType }) => actionType },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'triggered', value: ({ triggeredAt }) => instant(triggeredAt) },
  { title: 'attempts', value: ({ attemptCount }) => attemptCount, align: 'right' },
  { title: 'next', value: ({ nextAttemptAt }) => instant(nextAttemptAt) },
  { title: 'why', value: ({ detail }) => detail },
];
