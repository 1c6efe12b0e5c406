import { connectNatsBus, type EventBus, InvalidNatsAddress, natsServers } from '@agentlens/messaging';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { DefineCommand, Host } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { type Column, instant, plainText } from '../output/table.ts';
import { PROGRAM } from '../program-name.ts';
import { natsAddress, natsUnreachable } from '../settings/connection.ts';

const CONNECT_TIMEOUT_MS = 3_000;

export const natsSub: DefineCommand = (command, { host, output }) => {
  command
    .argument('[subject]', 'a NATS subject; * and > are wildcards', 'guardrail.triggered.>')
    .addHelpText('after', '\nNATS_URL sets the server; the default is the one of "npm run start:distributed".')
    .action(async (subject) => {
      const connection = await connectClient(natsAddress(host.folder, host.env));
      const close = () => void connection.close();
      host.signal.addEventListener('abort', close);
      const closed = connection.closed();
      output.note(`Listening on ${subject} at ${connection.getServer()}. Press Ctrl-C to stop.`);
      for await (const message of connection.subscribe(subject)) {
        const headers = Object.fromEntries(message.headers ?? []);
        const body = message.string();
        output.printItem({ subject: message.subject, headers, body }, () => {
          const shown = Object.entries(headers).map(([name, values]) => `  ${name}: ${values.join(', ')}`);
          return [message.subject, ...shown, `  ${body}`].map(plainText).join('\n');
        });
      }
      const problem = await closed;
      if (problem) throw problem;
    });
};

async function connectClient(address: string): Promise<NatsConnection> {
  try {
    const { servers, ...login } = natsServers(address);
    return await connect({ servers: [...servers], ...login, timeout: CONNECT_TIMEOUT_MS });
  } catch (error) {
    throw connectError(address, error);
  }
}

function connectError(address: string, error: unknown): CommandError {
  return error instanceof InvalidNatsAddress ? usageError(error.message) : natsUnreachable(address, error);
}

type DeadLetterRow = Awaited<ReturnType<EventBus['deadLetters']>>[number];

/** Connects to the broker of a distributed platform for the duration of `work`. */
async function withBus<T>({ folder, env }: Host, work: (bus: EventBus) => Promise<T>): Promise<T> {
  const address = natsAddress(folder, env);
  const bus = await connectBus(address);
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
}

async function connectBus(address: string): Promise<EventBus> {
  try {
    return await connectNatsBus({
      servers: address.split(','),
      name: 'dead-letters',
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
  } catch (error) {
    throw connectError(address, error);
  }
}

const DEAD_LETTER_COLUMNS: readonly Column<DeadLetterRow>[] = [
  { title: 'failed', value: ({ failedAt }) => instant(failedAt) },
  { title: 'group', value: ({ group }) => group },
  { title: 'message', value: ({ messageId }) => messageId },
  { title: 'subject', value: ({ subject }) => subject },
  { title: 'attempts', value: ({ attempts }) => attempts, align: 'right' },
  { title: 'reason', value: ({ reason }) => reason },
];

export const listDeadLetters: DefineCommand = (command, { host, output }) => {
  command
    .argument('[group]', 'only dead letters of this consumer group')
    .addHelpText('after', '\nNATS_URL sets the server; the default is the one of "npm run start:distributed".')
    .action(async (group) => {
      const letters = await withBus(host, (bus) => bus.deadLetters(group));
      output.printTable(letters, DEAD_LETTER_COLUMNS, `no dead letters${group === undefined ? '' : ` of ${group}`}`);
    });
};

export const redriveDeadLetter: DefineCommand = (command, { host, output }) => {
  command
    .argument('<group>', 'the consumer group of the dead letter')
    .argument('<message>', 'the id of the message')
    .action(async (group, messageId) => {
      if (await withBus(host, (bus) => bus.redrive(group, messageId))) {
        output.print({ group, messageId }, () => `redelivered ${messageId} to ${group}`);
        return;
      }
      throw new CommandError(`${group} has no dead letter ${messageId}`, {
        exitCode: EXIT.notFoundOrConflict,
        hint: `To list all dead letters: ${PROGRAM} dead-letters list`,
      });
    });
};
