import type { Readable, Writable } from 'node:stream';
import type { AgentLensClient } from '@agentlens/sdk';
import { guardOf, type ProxyOptions, pinGuardOf } from './guard-of.ts';
import { clientMessagesOf, invalid, type Message, serverMessagesOf, writeMessage } from './json-rpc.ts';
import { LineWriter, linesOf } from './lines.ts';
import { isDecided, Session, type Verdict } from './session.ts';

/** The two sides of a proxy: what each of them says, and where it listens. */
export interface ProxyStreams {
  readonly client: { readonly input: Readable; readonly output: Writable };
  readonly server: { readonly input: Writable; readonly output: Readable };
}

/**
 * Forwards messages between a client and a server until one of them ends. Answers which of them did. What a client says
 * is forwarded as it was parsed and decided; a line that is no message is refused with a JSON-RPC error.
 */
export async function proxyStreams(
  lens: AgentLensClient,
  options: ProxyOptions,
  { client, server }: ProxyStreams,
): Promise<'client' | 'server'> {
  const toClient = new LineWriter(client.output);
  const toServer = new LineWriter(server.input);
  const { server: name, progressEveryMs } = options;
  const guard = guardOf(lens, options);
  const session = new Session({
    ...{ guard, server: name, progressEveryMs, pins: pinGuardOf(lens, options) },
    toClient: (message) => void toClient.write(writeMessage(message)),
    toServer: (message) => void toServer.write(writeMessage(message)),
  });
  const upwards = pump(
    readClient(client.input, (refusal) => toClient.write(writeMessage(refusal))),
    { decide: (message) => session.fromClient(message), onwards: toServer, back: toClient },
  );
  const downwards = pump(
    readServer(server.output, (what) => guard.warn(what)),
    { decide: (message) => session.fromServer(message), onwards: toClient, back: toServer },
  );
  const first = await Promise.race([upwards.then(() => 'client' as const), downwards.then(() => 'server' as const)]);
  server.input.end();
  if (first === 'client') await downwards;
  await session.end(first === 'client' ? 'success' : 'error');
  return first;
}

/** A message, and the text that stands for it. */
interface Line {
  readonly message: Message;
  readonly text: string;
}

async function* readClient(input: Readable, refuse: (refusal: Message) => Promise<void>): AsyncGenerator<Line> {
  for await (const text of linesOf(input)) {
    if (text?.trim() === '') continue;
    const read = text === null ? [{ refusal: invalid(null, 'it is too long') }] : clientMessagesOf(text);
    for (const { message, refusal } of read)
      if (message === undefined) await refuse(refusal);
      else yield { message, text: writeMessage(message) };
  }
}

async function* readServer(output: Readable, warn: (what: string) => void): AsyncGenerator<Line> {
  for await (const text of linesOf(output)) {
    if (text?.trim() === '') continue;
    const read = text === null ? undefined : serverMessagesOf(text);
    if (read === undefined) warn('the server wrote a line that is no JSON-RPC message; it was dropped');
    else yield* read;
  }
}

interface Pump {
  readonly decide: (message: Message) => Promise<Verdict>;
  readonly onwards: LineWriter;
  readonly back: LineWriter;
}

/** A call that waits for its decision holds up nothing that comes after it. */
async function pump(from: AsyncIterable<Line>, { decide, onwards, back }: Pump): Promise<void> {
  const deciding = new Set<Promise<void>>();
  const settle = async ({ message, text }: Line): Promise<void> => {
    const verdict = await decide(message);
    if (verdict.pass) await onwards.write(text);
    else if (verdict.send !== undefined) await onwards.write(writeMessage(verdict.send));
    else if (verdict.answer !== undefined) await back.write(writeMessage(verdict.answer));
  };
  for await (const line of from) {
    const settled = settle(line);
    deciding.add(settled);
    void settled.finally(() => deciding.delete(settled));
    if (!isDecided(line.message)) await settled;
  }
  await Promise.all(deciding);
}
