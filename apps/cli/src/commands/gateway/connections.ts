import { text } from 'node:stream/consumers';
import type { AnswerOf, CommandContext, DefineCommand } from '../../context.ts';
import { CommandError, EXIT, usageError } from '../../errors.ts';
import { toneOf } from '../../output/style.ts';
import { type Column, instant } from '../../output/table.ts';
import { count } from '../../parse.ts';
import { PROGRAM } from '../../program-name.ts';
import { failedCall } from './model-calls.ts';

type ConnectionAnswer = AnswerOf<'listModelConnections'>['connections'][number];
type Dialect = ConnectionAnswer['dialect'];

/** Written out, because loading the contracts would slow the start. The platform checks the word as well. */
const DIALECTS: readonly Dialect[] = ['anthropic', 'openai', 'gemini'];

const COLUMNS: readonly Column<ConnectionAnswer>[] = [
  { title: 'name', value: ({ name }) => name },
  { title: 'dialect', value: ({ dialect }) => dialect },
  { title: 'address', value: ({ baseUrl }) => baseUrl },
  { title: 'key', value: ({ credential }) => credential?.fingerprint ?? 'none' },
  { title: 'models', value: ({ models }) => models?.join(', ') ?? 'all' },
  { title: 'fallback', value: ({ fallback }) => fallback ?? 'none' },
  { title: 'enabled', value: ({ enabled }) => enabled, tone: toneOf },
  { title: 'changed', value: ({ updatedAt }) => instant(updatedAt) },
];

export function readDialect(word: string): Dialect {
  const dialect = DIALECTS.find((one) => one === word);
  if (dialect !== undefined) return dialect;
  throw usageError(`There is no dialect ${JSON.stringify(word)}.`, `Use one of ${DIALECTS.join(', ')}.`);
}

/** Connects the gateway to a provider. The key of the provider is typed, or read from stdin, and never an argument. */
export const connect: DefineCommand = (command, context) => {
  command
    .argument('<dialect>', DIALECTS.join(', '))
    .option('--name <name>', 'name of the connection, a part of the address; default: the dialect')
    .option('--base-url <address>', "address of the provider; default: the provider's own")
    .option('--models <globs>', 'models that may be called, comma-separated; default: all')
    .option('--fallback <name>', 'another connection of the dialect, which gets a call if this one gives no answer')
    .option('--first-byte <seconds>', 'how long the provider may take to begin its answer; default: 900', count)
    .action(async (word, { name, baseUrl, models, fallback, firstByte }) => {
      const dialect = readDialect(word);
      const client = await context.connect();
      const credential = await readCredential(context, dialect);
      const set = await client.setModelConnection({
        params: { name: name ?? dialect },
        body: {
          ...{ dialect, credential, baseUrl, fallback, firstByteSeconds: firstByte },
          models: models?.split(',').map((glob) => glob.trim()),
        },
      });
      context.output.print(set, () => `Connected ${set.name} to ${set.baseUrl}`);
      context.output.note(`Next: ${PROGRAM} gateway key <agent>, then ${PROGRAM} gateway env ${dialect}`);
    });
};

async function readCredential({ prompt, host }: CommandContext, dialect: Dialect): Promise<string> {
  if (prompt === null && host.stdin.isTTY === true) {
    throw usageError('Cannot prompt for the key with --no-input: pipe it to stdin.');
  }
  const typed = prompt === null ? await text(host.stdin) : await prompt.askSecret(`API key of ${dialect}: `);
  const credential = typed.trim();
  if (credential !== '' && !/\s/.test(credential)) return credential;
  throw new CommandError('That is not an API key: a key is one word.', { exitCode: EXIT.usage });
}

export const listConnections: DefineCommand = (command, context) => {
  command.action(async () => {
    const { connections } = await (await context.connect()).listModelConnections();
    context.output.printTable(connections, COLUMNS, `No connections. Create one: ${PROGRAM} gateway connect anthropic`);
  });
};

export const disconnect: DefineCommand = (command, context) => {
  command.argument('<name>', 'the connection').action(async (name) => {
    const client = await context.connect();
    await context.confirm(`Delete the connection ${name} and its key? Calls over it are refused within 5 seconds.`);
    const answer = await client.deleteModelConnection({ params: { name } });
    context.output.print(answer, () => `Deleted ${name}`);
  });
};

/** Creates the key that an agent uses in place of a key of a provider. */
export const createModelKey: DefineCommand = (command, context) => {
  command.argument('<agent>', 'the agent that may use the key').action(async (agent) => {
    const client = await context.connect();
    const made = await client.createKey({ body: { name: `Models of ${agent}`, scopes: ['model'], agents: [agent] } });
    context.output.printDetails(made, [
      ['Key', made.key],
      ['ID', made.id],
      ['Agent', agent],
    ]);
    context.output.note(`Store the key now: it is not shown again. Settings: ${PROGRAM} gateway env <client>`);
  });
};

/** Defines the command that enables or disables a connection. Everything else of it stays, its key included. */
function switchConnection(enabled: boolean): DefineCommand {
  return (command, context) => {
    command.argument('<name>', 'the connection').action(async (name) => {
      const client = await context.connect();
      const { connections } = await client.listModelConnections();
      const found = connections.find((connection) => connection.name === name);
      if (found === undefined) throw failedCall(`There is no connection ${name}. Show them: ${PROGRAM} gateway list`);
      const { dialect, baseUrl, forwardHeaders, models, pricingProvider, fallback, firstByteSeconds, version } = found;
      const set = await client.setModelConnection({
        params: { name },
        ifMatch: version,
        body: {
          ...{ dialect, baseUrl, forwardHeaders, enabled },
          models: models ?? undefined,
          pricingProvider: pricingProvider ?? undefined,
          fallback: fallback ?? undefined,
          firstByteSeconds: firstByteSeconds ?? undefined,
        },
      });
      context.output.print(set, () =>
        enabled ? `Enabled ${name}` : `Disabled ${name}. New calls over it are refused within 5 seconds`,
      );
    });
  };
}

export const enableConnection = switchConnection(true);

export const disableConnection = switchConnection(false);
