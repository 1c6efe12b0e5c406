import type { Readable, Writable } from 'node:stream';
import type { AgentLensClient } from '@agentlens/sdk';
import { guardOf, type ProxyOptions } from './guard-of.ts';
import { type Message, messagesOf } from './json-rpc.ts';
import { LineWriter, linesOf } from './lines.ts';
import { Session, type Verdict } from './session.ts';

/** The two sides of a proxy: what each of them says, and where it listens. */
export interface ProxyStreams {
  readonly client: { readonly input: Readable; readonly output: Writable };
  readonly server: { readonly input: Writable; readonly output: Readable };
}

/** Passes lines between a client and a server until one of them ends. Answers which of them did. */
export async function proxyStreams(
  lens: AgentLensClient,
  options: ProxyOptions,
  { client, server }: ProxyStreams,
): Promise<'client' | 'server'> {
  const toClient = new LineWriter(client.output);
  const toServer = new LineWriter(server.input);
  const { server: name, progressEveryMs } = options;
  const session = new Session({
    guard: guardOf(lens, options),
    server: name,
    progressEveryMs,
    toClient: (message) => void toClient.write(line(message)),
    toServer: (message) => void toServer.write(line(message)),
  });
  const upwards = pump(client.input, {
    decide: (message) => session.fromClient(message),
    forward: (text) => toServer.write(text),
    answer: (text) => toClient.write(text),
  });
  const downwards = pump(server.output, {
    decide: (message) => session.fromServer(message),
    forward: (text) => toClient.write(text),
    answer: (text) => toClient.write(text),
  });
  const first = await Promise.race([upwards.then(() => 'client' as const), downwards.then(() => 'server' as const)]);
  server.input.end();
  if (first === 'client') await downwards;
  await session.end(first === 'client' ? 'success' : 'error');
  return first;
}

interface Pump {
  readonly decide: (message: Message) => Promise<Verdict>;
  readonly forward: (text: string) => Promise<void>;
  readonly answer: (text: string) => Promise<void>;
}

/** A call that waits for its decision holds up nothing that comes after it. */
async function pump(from: Readable, { decide, forward, answer }: Pump): Promise<void> {
  const deciding = new Set<Promise<void>>();
  const settle = async (message: Message, text: string): Promise<void> => {
    const verdict = await decide(message);
    if (verdict.pass) await forward(text);
    else if (verdict.send !== undefined) await forward(line(verdict.send));
    else if (verdict.answer !== undefined) await answer(line(verdict.answer));
  };
  for await (const text of linesOf(from)) {
    const messages = messagesOf(text);
    if (messages === undefined) {
      await forward(text);
      continue;
    }
    for (const message of messages) {
      const settled = settle(message, messages.length === 1 ? text : line(message));
      deciding.add(settled);
      void settled.finally(() => deciding.delete(settled));
      if (message.method !== 'tools/call') await settled;
    }
  }
  await Promise.all(deciding);
}

function line(message: Message): string {
  return `${JSON.stringify(message)}\n`;
}
