import type { AnswerOf } from '../../api-types.ts';
import { instant } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

export const TRIGGER_COLUMNS: readonly Column<AnswerOf<'listTriggers'>['triggers'][number]>[] = [
  { title: 'at', value: ({ triggeredAt }) => instant(triggeredAt) },
  { title: 'rule', value: ({ ruleName }) => ruleName },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'action', value: ({ actionType }) => actionType },
  { title: 'result', value: ({ actionResult }) => actionResult, tone: toneOf },
  { title: 'what happened', value: ({ metadata }) => metadata.message },
];
