import { createReadStream, createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { natsServers } from '@agentlens/messaging';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { CommandContext, DefineCommand } from '../../context.ts';
import { natsAddress, natsUnreachable } from '../../settings/connection.ts';
import { StreamFileReader, StreamFileWriter } from './stream-file.ts';
import { listStreams, loadStream, openSnapshot } from './stream-snapshots.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const [STDIN, STDOUT] = [0, 1];

/** The other half of `backup` and `restore`: runs inside, where NATS is reachable, with the user of the migration. */
export const saveStreams: DefineCommand = (command, context) => {
  command.action(async () => {
    const out = createWriteStream('', { fd: STDOUT });
    const writer = new StreamFileWriter(out);
    await withNats(context, async (connection) => {
      for (const name of await listStreams(connection)) {
        const { head, parts } = await openSnapshot(connection, name);
        await writer.writeHead(head);
        for await (const part of parts) await writer.writePart(part);
        await writer.end();
        context.output.note(`${name}: ${head.state.messages} messages`);
      }
    });
    await writer.end();
    out.end();
    await finished(out);
  });
};

export const loadStreams: DefineCommand = (command, context) => {
  command.action(async () => {
    const reader = new StreamFileReader(createReadStream('', { fd: STDIN }));
    await withNats(context, async (connection) => {
      for (let head = await reader.readHead(); head !== null; head = await reader.readHead()) {
        await loadStream(connection, head, reader.readParts());
        context.output.note(`${head.config.name}: ${head.state.messages} messages`);
      }
    });
  });
};

async function withNats({ host }: CommandContext, work: (connection: NatsConnection) => Promise<void>): Promise<void> {
  const address = natsAddress(host.folder, host.env);
  const { servers, ...login } = natsServers(address);
  const connection = await connect({ servers: [...servers], ...login, timeout: CONNECT_TIMEOUT_MS }).catch((error) => {
    throw natsUnreachable(address, error);
  });
  try {
    await work(connection);
  } finally {
    await connection.close();
  }
}
