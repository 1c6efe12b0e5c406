import { JetStreamApiError, type JetStreamClient, type PubAck } from '@nats-io/jetstream';
import { InvalidArgumentError, type MsgHdrs, MsgHdrsImpl } from '@nats-io/nats-core';
import { BusUnavailable } from '../event-bus.ts';
import { type EncodedMessage, encodeHeader, JSON_CONTENT, ORIGINAL_ID } from '../publish/encoded-message.ts';
import { injectTrace } from '../util/telemetry.ts';

/**
 * The headers a message is published with: its type, its own, and the trace. Made at once from a record: `set` looks each
 * name up among the others and checks it, which for names that are ours and values that are encoded costs several
 * microseconds a message for nothing.
 */
export function headersFor({ headers }: EncodedMessage): MsgHdrs {
  const record: Record<string, string[]> = { 'content-type': [JSON_CONTENT] };
  for (const name in headers) record[name] = [encodeHeader(headers[name] ?? '')];
  injectTrace(record, (carrier, key, value) => {
    carrier[key] = [value];
  });
  return MsgHdrsImpl.fromRecord(record);
}

/** When to come back to a broker that cannot be reached. */
export const AWAY_MS = 1_000;
const FULL_MS = 5_000;
/** Of servers newer than 2.10: the first message with this id is not stored yet. */
const NOT_YET_SAFE = 10_158;

interface Outgoing {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly headers: MsgHdrs;
  readonly timeout: number;
  readonly msgID: string | undefined;
}

/**
 * Resolves when a stream has the message. A leader of nats-server 2.10 that cannot reach its followers answers the
 * repetition of a message as a duplicate at sequence 0, though the message is not safe, and does so for as long as it
 * knows the id, though the message may be gone by then. So it is given once more without that id; those who consume it
 * find the id in a header of ours, and may be given anything twice.
 */
export async function storeMessage(
  client: JetStreamClient,
  { subject, body, headers, timeout, msgID }: Outgoing,
): Promise<PubAck> {
  const ack = await client.publish(subject, body, { headers, timeout, msgID });
  if (ack.seq > 0 || msgID === undefined) return ack;
  headers.delete('Nats-Msg-Id');
  headers.set(ORIGINAL_ID, msgID);
  return client.publish(subject, body, { headers, timeout });
}

/** A message too large is the caller's mistake and no retry helps; everything else is the broker's state. */
export function refusalOf(error: unknown, subject: string): Error {
  if (error instanceof InvalidArgumentError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const full = error instanceof JetStreamApiError && error.code !== NOT_YET_SAFE;
  return new BusUnavailable(`NATS did not keep a message on ${subject}: ${reason}`, full ? FULL_MS : AWAY_MS, {
    cause: error,
  });
}
