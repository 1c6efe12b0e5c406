import { type Client, pages } from '@agentlens/client';
import type { AnswerOf, DefineCommand } from '../context.ts';
import { usageError } from '../errors.ts';
import { type Cell, type Column, instant } from '../output/table.ts';
import { count } from '../parse.ts';
import { PAGE, printList } from './print-list.ts';

const TENANT_COLUMNS: readonly Column<AnswerOf<'listTenants'>['tenants'][number]>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'made', value: ({ createdAt }) => instant(createdAt) },
];

export const listTenants: DefineCommand = (command, context) => {
  command.option('--limit <n>', 'maximum number of tenants', count, 50).action(async ({ limit }) => {
    const client = await context.connect();
    await printList(context, {
      pages: pages(client.listTenants, { query: { limit: Math.min(limit, PAGE) } }),
      itemsOf: ({ tenants }) => tenants,
      columns: TENANT_COLUMNS,
      none: 'No tenants.',
      limit,
    });
  });
};

export const createTenant: DefineCommand = (command, context) => {
  command
    .argument('<id>', 'id of the tenant, used in keys and subjects')
    .option('--name <text>', 'display name; default: the id')
    .action(async (id, { name }) => {
      const client = await context.connect();
      const made = await client.createTenant({ body: { id, name } });
      context.output.printDetails(made, [
        ['Tenant', made.id],
        ['Name', made.name],
        ['Admin key', made.adminKey.key],
        ['Key ID', made.adminKey.id],
      ]);
      context.output.note('Store the key now: it is not shown again.');
    });
};

export const showSettings: DefineCommand = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const settings = await client.getSettings();
    context.output.printDetails(settings, members(settings));
  });
};

/** Every setting the platform returns, by name. */
export function members(settings: object): [string, Cell][] {
  return Object.entries(settings).map(([name, value]) => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ]);
}

type SettingsBody = NonNullable<Parameters<Client['patchSettings']>[0]>['body'];

export const setSettings: DefineCommand = (command, context) => {
  command.argument('<name=value...>', 'like decisionFailMode=block').action(async (words) => {
    const changes = Object.fromEntries(words.map(change));
    const client = await context.connect();
    // The platform validates names and values; here they are plain text.
    const settings = await client.patchSettings({ body: changes as SettingsBody });
    context.output.printDetails(settings, members(settings));
  });
};

function change(word: string): [string, unknown] {
  const at = word.indexOf('=');
  if (at < 1) throw usageError(`"${word}" must have the form name=value`);
  return [word.slice(0, at), settingValue(word.slice(at + 1))];
}

/** Parses `true`, `12` and `null` as JSON; anything else is text. */
function settingValue(text: string): unknown {
  return /^(true|false|null|-?\d+(\.\d+)?)$/.test(text) ? JSON.parse(text) : text;
}
