import { natsServers } from '@agentlens/messaging';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { CommandFile } from '../command-file.ts';
import { plainText } from '../output/plain-text.ts';
import { natsAddress, natsUnreachable } from '../settings/nats-address.ts';

const CONNECT_MS = 3_000;

export const define: CommandFile['define'] = (command, { host, output }) => {
  command
    .argument('[subject]', 'with * and > as NATS reads them', 'guardrail.triggered.>')
    .addHelpText('after', '\nNATS_URL names the server; by default the one of "npm run start:distributed".')
    .action(async (subject) => {
      const connection = await connectTo(natsAddress(host.folder, host.env));
      const close = () => void connection.close();
      host.signal.addEventListener('abort', close);
      const closed = connection.closed();
      output.note(`Listening on ${subject} at ${connection.getServer()}; Ctrl-C ends it.`);
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

async function connectTo(address: string): Promise<NatsConnection> {
  try {
    const { servers, ...login } = natsServers(address);
    return await connect({ servers: [...servers], ...login, timeout: CONNECT_MS });
  } catch (error) {
    throw natsUnreachable(address, error);
  }
}
