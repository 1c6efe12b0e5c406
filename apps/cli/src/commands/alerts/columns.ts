import type { AlertAnswer } from '../../api-types.ts';
import { instant } from '../../output/format.ts';
import { type Paint, toneOf } from '../../output/style.ts';
import { type Column, details } from '../../output/table.ts';

export const ALERT_COLUMNS: readonly Column<AlertAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'status', value: ({ status }) => status, tone: toneOf },
  { title: 'kind', value: ({ kind }) => kind },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'since', value: ({ createdAt }) => instant(createdAt) },
  { title: 'expires', value: ({ expiresAt }) => instant(expiresAt) },
  { title: 'title', value: ({ title }) => title },
];

export function alertDetails(alert: AlertAnswer, paint: Paint): string {
  const { approval } = alert;
  return details(
    [
      ['Alert', alert.id, 'strong'],
      ['Title', alert.title],
      ['Message', alert.message],
      ['Status', alert.status, toneOf(alert.status)],
      ['Severity', alert.severity, toneOf(alert.severity)],
      ['Kind', alert.kind],
      ['Agent', alert.agentId],
      ['Run', alert.runId],
      ['Rule', alert.ruleId],
      ['Tool', approval?.toolName],
      ['Arguments', approval && `SHA-256 ${approval.argsHash}`],
      ['Since', instant(alert.createdAt)],
      ['Expires', instant(alert.expiresAt)],
      ['Seen', alert.acknowledgedBy && `by ${alert.acknowledgedBy}`],
      ['Decided', alert.decidedBy && `by ${alert.decidedBy}, ${instant(alert.decidedAt) ?? ''}`],
      ['Reason', alert.reason],
      ['Used', instant(alert.usedAt)],
    ],
    paint,
  );
}
