import { type Client, pages } from '@agentlens/client';
import type { AnswerOf, CommandContext, DefineCommand, KeyAnswer } from '../context.ts';
import { CommandError, EXIT } from '../errors.ts';
import { toneOf } from '../output/style.ts';
import { type Column, instant } from '../output/table.ts';
import { count, instantFrom } from '../parse.ts';
import { PROGRAM } from '../program-name.ts';
import { PAGE, printList } from './print-list.ts';

const KEY_COLUMNS: readonly Column<KeyAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'scopes', value: ({ scopes }) => scopes.join(', ') },
  { title: 'state', value: ({ revokedAt }) => (revokedAt === null ? 'valid' : 'revoked'), tone: toneOf },
  { title: 'expires', value: ({ expiresAt }) => instant(expiresAt) ?? 'never' },
  { title: 'last used', value: ({ lastUsedAt }) => instant(lastUsedAt) ?? 'never' },
];

/** Prints a new key; the platform shows it only once. */
function printNewKey({ output }: CommandContext, made: AnswerOf<'createKey'>): void {
  output.printDetails(made, [
    ['Key', made.key],
    ['ID', made.id],
    ['Name', made.name],
    ['Scopes', made.scopes.join(', ')],
    ['Expires', instant(made.expiresAt) ?? 'never'],
  ]);
  output.note('Store the key now: it is not shown again.');
}

export const listKeys: DefineCommand = (command, context) => {
  command.option('--limit <n>', 'maximum number of keys', count, 500).action(async ({ limit }) => {
    const client = await context.connect();
    await printList(context, {
      pages: pages(client.listKeys, { query: { limit: Math.min(limit, PAGE) } }),
      itemsOf: ({ keys }) => keys,
      columns: KEY_COLUMNS,
      none: 'No keys.',
      limit,
    });
  });
};

export const createKey: DefineCommand = (command, context) => {
  command
    .argument('<name>', 'name of the key')
    .option('--scopes <words>', 'ingest, decide, read, review, admin; comma-separated', 'ingest,decide,read')
    .option(
      '--agents <ids>',
      'restrict the key to these agents, comma-separated; requires the scopes ingest and decide',
    )
    .option('--expires <time>', 'an instant, a date or a time from now such as 30d', instantFrom(context.host.nowMs))
    .option('--events-per-second <n>', 'its quota', count)
    .action(async (name, { scopes, agents, expires, eventsPerSecond }) => {
      const client = await context.connect();
      const of = { scopes: wordsOf(scopes), agents: agents === undefined ? undefined : wordsOf(agents) };
      printNewKey(context, await client.createKey({ body: { name, ...of, expiresAt: expires, eventsPerSecond } }));
    });
};

function wordsOf(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

export const rotateKey: DefineCommand = (command, context) => {
  command.argument('<id>', 'the key to replace').action(async (id) => {
    const client = await context.connect();
    const made = await client.rotateKey({ params: { id } });
    printNewKey(context, made);
    context.output.note(`The old key ${made.previous.id} works until ${made.previous.expiresAt ?? 'it is revoked'}.`);
  });
};

export const revokeKey: DefineCommand = (command, context) => {
  command.argument('<id>', 'the key to revoke').action(async (id) => {
    const client = await context.connect();
    const key = await find(client, id);
    if (key === undefined) {
      const hint = `To list all keys of the tenant: ${PROGRAM} keys list`;
      throw new CommandError(`There is no key ${id}`, { exitCode: EXIT.notFoundOrConflict, hint });
    }
    await context.confirmByName(`Revoke the key ${id}? Programs that use it stop working within 5 seconds.`, key.name);
    const answer = await client.revokeKey({ params: { id } });
    context.output.print(answer, () => `Revoked ${id}`);
  });
};

async function find(client: Client, id: string) {
  for await (const { keys } of pages(client.listKeys, {})) {
    const key = keys.find((one) => one.id === id);
    if (key !== undefined) return key;
  }
  return undefined;
}
