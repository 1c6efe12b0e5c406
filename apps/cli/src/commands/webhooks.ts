import { pages } from '@agentlens/client';
import type { AnswerOf, CommandContext, DefineCommand } from '../context.ts';
import { toneOf } from '../output/style.ts';
import { type Cell, type Column, instant } from '../output/table.ts';
import { count, oneOf, someOf } from '../parse.ts';
import { PROGRAM } from '../program-name.ts';
import { PAGE, printList } from './print-list.ts';

const DELIVERY_COLUMNS: readonly Column<AnswerOf<'listDeliveries'>['deliveries'][number]>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'result', value: ({ result }) => result, tone: toneOf },
  { title: 'action', value: ({ actionType }) => actionType },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'triggered', value: ({ triggeredAt }) => instant(triggeredAt) },
  { title: 'attempts', value: ({ attemptCount }) => attemptCount, align: 'right' },
  { title: 'next', value: ({ nextAttemptAt }) => instant(nextAttemptAt) },
  { title: 'why', value: ({ detail }) => detail },
];

export const listDeliveries: DefineCommand = (command, context) => {
  command
    .option('--rule <id>', 'only actions of this rule')
    .option('--result <words>', 'for example failed, retrying, success; comma-separated')
    .option('--limit <n>', 'maximum number of deliveries', count, 50)
    .action(async ({ rule, result, limit }) => {
      const client = await context.connect();
      const query = { ruleId: rule, result, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listDeliveries, { query }),
        itemsOf: ({ deliveries }) => deliveries,
        columns: DELIVERY_COLUMNS,
        none: 'No deliveries match.',
        limit,
      });
    });
};

export const replayDelivery: DefineCommand = (command, context) => {
  command.argument('<id>', 'the delivery').action(async (id) => {
    const client = await context.connect();
    const answer = await client.redeliver({ params: { id } });
    context.output.print(answer, () => `Running the action again: ${answer.deliveryId}`);
  });
};

type Webhook = AnswerOf<'getWebhook'>;

const stateOf = ({ enabled, disabledReason }: Webhook): string => disabledReason ?? (enabled ? 'on' : 'off');

const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'state', value: stateOf, tone: (text) => (text === 'on' ? 'good' : 'warning') },
  { title: 'events', value: ({ events }) => events.join(', ') },
  { title: 'format', value: ({ format }) => format },
  { title: 'address', value: ({ url }) => url },
];

function webhookMembers(webhook: Webhook): [string, Cell][] {
  return [
    ['Webhook', webhook.id],
    ['Name', webhook.name],
    ['Address', webhook.url],
    ['Events', webhook.events.join(', ')],
    ['Format', webhook.format],
    ['State', stateOf(webhook)],
  ];
}

/** Prints a webhook with its new signing secret; the platform shows the secret only once. */
function printNewWebhook({ output }: CommandContext, webhook: AnswerOf<'createWebhook'>): void {
  output.printDetails(webhook, [...webhookMembers(webhook), ['Secret', webhook.secret]]);
  output.note('Store the secret now: it is not shown again.');
}

export const listWebhooks: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const { webhooks } = await client.listWebhooks();
    context.output.printTable(webhooks, WEBHOOK_COLUMNS, 'No webhooks.');
  });
};

const EVENTS = ['approvals', 'alerts', 'triggers', 'orders', 'breakers', 'budgets', 'audit'] as const;
const FORMATS = ['standard', 'slack'] as const;

export const createWebhook: DefineCommand = (command, context) => {
  command
    .argument('<address>', 'URL to send to')
    .requiredOption('--events <words>', `${EVENTS.join(', ')}; comma-separated`, someOf(EVENTS))
    .option('--format <word>', FORMATS.join(', '), oneOf(FORMATS), 'standard')
    .option('--name <text>', 'name of the webhook')
    .action(async (url, { events, format, name }) => {
      const client = await context.connect();
      printNewWebhook(context, await client.createWebhook({ body: { url, events, format, name } }));
    });
};

/** Defines the command that enables or disables a webhook. */
function setWebhookEnabled(enabled: boolean): DefineCommand {
  return (command, context) => {
    command.argument('<id>', 'the webhook').action(async (id) => {
      const client = await context.connect();
      const webhook = await client.updateWebhook({ params: { id }, body: { enabled } });
      context.output.printDetails(webhook, webhookMembers(webhook));
    });
  };
}

export const enableWebhook = setWebhookEnabled(true);

export const disableWebhook = setWebhookEnabled(false);

export const testWebhook: DefineCommand = (command, context) => {
  command.argument('<id>', 'the webhook').action(async (id) => {
    const client = await context.connect();
    const answer = await client.testWebhook({ params: { id } });
    context.output.print(answer, () => `Sent as delivery ${answer.deliveryId}`);
    context.output.note(`To see the result: ${PROGRAM} webhooks deliveries ${id}`);
  });
};

export const webhookDeliveries: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'the webhook')
    .option('--limit <n>', 'maximum number of deliveries', count, 50)
    .action(async (id, { limit }) => {
      const client = await context.connect();
      await printList(context, {
        pages: pages(client.listWebhookDeliveries, { params: { id }, query: { limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ deliveries }) => deliveries,
        columns: DELIVERY_COLUMNS,
        none: 'No messages sent yet.',
        limit,
      });
    });
};

export const rotateWebhookSecret: DefineCommand = (command, context) => {
  command.argument('<id>', 'the webhook').action(async (id) => {
    const client = await context.connect();
    printNewWebhook(context, await client.rotateWebhookSecret({ params: { id } }));
  });
};

export const deleteWebhook: DefineCommand = (command, context) => {
  command.argument('<id>', 'the webhook').action(async (id) => {
    const client = await context.connect();
    const { name, url } = await client.getWebhook({ params: { id } });
    await context.confirmByName(`Delete the webhook to ${url}? Its log is kept.`, name ?? id);
    const answer = await client.deleteWebhook({ params: { id } });
    context.output.print(answer, () => `Deleted ${id}`);
  });
};
