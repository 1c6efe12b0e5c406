import { createInbox, type NatsConnection, type Subscription } from '@nats-io/transport-node';

const API = '$JS.API';
const REQUEST_TIMEOUT_MS = 30_000;
/** How long the server may take to send the next part. */
const PART_TIMEOUT_MS = 60_000;
const CHUNK_BYTES = 128 * 1024;
const MIN_ERROR_STATUS = 400;
/** The server's code for a stream that does not exist. */
const NO_STREAM = 10_059;

/** A stream as the server knows it; restoring needs it as it was. */
export interface StreamHead {
  readonly config: { readonly name: string };
  readonly state: { readonly messages: number };
}

interface Answer {
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

export async function listStreams(connection: NatsConnection): Promise<string[]> {
  const answer = await ask<{ streams: string[] | null }>(connection, 'STREAM.NAMES', {});
  return (answer.streams ?? []).toSorted();
}

/** Opens a snapshot of a stream: its messages, and how far each consumer has read. Read all its parts. */
export async function openSnapshot(
  connection: NatsConnection,
  name: string,
): Promise<{ head: StreamHead; parts: AsyncIterable<Uint8Array> }> {
  const deliver = createInbox();
  const messages = connection.subscribe(deliver);
  try {
    const request = { deliver_subject: deliver, no_consumers: false, chunk_size: CHUNK_BYTES };
    const { config, state } = await ask<StreamHead>(connection, `STREAM.SNAPSHOT.${name}`, request);
    return { head: { config, state }, parts: readParts(messages, name) };
  } catch (error) {
    messages.unsubscribe();
    throw error;
  }
}

async function* readParts(messages: Subscription, name: string): AsyncGenerator<Uint8Array> {
  // Ends the loop below if the server falls silent.
  const idle = setTimeout(() => messages.unsubscribe(), PART_TIMEOUT_MS);
  try {
    for await (const part of messages) {
      idle.refresh();
      if (part.data.length > 0) {
        yield part.data;
        // The server sends some parts ahead and waits for the answers.
        part.respond();
        continue;
      }
      // The last part is empty. Its status says whether the server could not go on.
      const status = part.headers?.code ?? 0;
      if (status >= MIN_ERROR_STATUS)
        throw new Error(`NATS ended the snapshot of ${name}: ${part.headers?.description}`);
      return;
    }
    throw new Error(`NATS did not finish the snapshot of ${name}`);
  } finally {
    clearTimeout(idle);
    messages.unsubscribe();
  }
}

/** Replaces a stream, with its consumers, by a snapshot. */
export async function loadStream(
  connection: NatsConnection,
  head: StreamHead,
  parts: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { name } = head.config;
  await ask(connection, `STREAM.DELETE.${name}`, {}, NO_STREAM);
  const { deliver_subject: target } = await ask<{ deliver_subject: string }>(
    connection,
    `STREAM.RESTORE.${name}`,
    head,
  );
  const send = async (part: Uint8Array) => {
    const answer = await connection.request(target, part, { timeout: PART_TIMEOUT_MS });
    if (answer.data.length > 0) refuse(answer.json<Answer>(), `restore ${name}`);
  };
  for await (const part of parts) await send(part);
  await send(new Uint8Array());
}

async function ask<T>(connection: NatsConnection, path: string, body: object, allowed?: number): Promise<T> {
  const answer = await connection.request(`${API}.${path}`, JSON.stringify(body), { timeout: REQUEST_TIMEOUT_MS });
  const parsed = answer.json<T & Answer>();
  refuse(parsed, path, allowed);
  return parsed;
}

function refuse({ error }: Answer, what: string, allowed?: number): void {
  if (error === undefined || error.err_code === allowed) return;
  throw new Error(`NATS refused to ${what}: ${error.description ?? 'without a reason'}`);
}
