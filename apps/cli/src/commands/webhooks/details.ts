import type { AnswerOf } from '../../api-types.ts';
import type { CommandContext } from '../../context.ts';
import type { Cell, Column } from '../../output/table.ts';

type Webhook = AnswerOf<'getWebhook'>;

const stateOf = ({ enabled, disabledReason }: Webhook): string => disabledReason ?? (enabled ? 'on' : 'off');

export const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'state', value: stateOf, tone: (text) => (text === 'on' ? 'good' : 'warning') },
  { title: 'events', value: ({ events }) => events.join(', ') },
  { title: 'format', value: ({ format }) => format },
  { title: 'address', value: ({ url }) => url },
];

export function webhookMembers(webhook: Webhook): [string, Cell][] {
  return [
    ['Webhook', webhook.id],
    ['Name', webhook.name],
    ['Address', webhook.url],
    ['Events', webhook.events.join(', ')],
    ['Format', webhook.format],
    ['State', stateOf(webhook)],
  ];
}

/** A webhook whose signing secret was just made: the only time it is shown. */
export function printNewWebhook({ output }: CommandContext, webhook: AnswerOf<'createWebhook'>): void {
  output.printDetails(webhook, [...webhookMembers(webhook), ['Secret', webhook.secret]]);
  output.note('Store the secret now: it is not shown again.');
}
