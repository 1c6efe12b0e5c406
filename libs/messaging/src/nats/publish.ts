import { JetStreamApiError, type JetStreamClient, type PubAck } from '@nats-io/jetstream';
import { InvalidArgumentError, type MsgHdrs, MsgHdrsImpl } from '@nats-io/nats-core';
import { BusUnavailable } from '../event-bus.ts';
import { type EncodedMessage, encodeHeader, JSON_CONTENT, ORIGINAL_ID } from '../publish/encoded-message.ts';
import { injectTrace } from '../util/telemetry.ts';

/**
 * Headers of an outgoing message: content type, its own headers and the trace context. Built from a record in one step,
 * because `MsgHdrs.set` looks up and validates every name, which costs microseconds per message and is not needed for
 * known names and encoded values.
 */
export function headersFor({ headers }: EncodedMessage): MsgHdrs {
  const record: Record<string, string[]> = { 'content-type': [JSON_CONTENT] };
  for (const name in headers) record[name] = [encodeHeader(headers[name] ?? '')];
  injectTrace(record, (carrier, key, value) => {
    carrier[key] = [value];
  });
  return MsgHdrsImpl.fromRecord(record);
}

/** Suggested retry delay when the broker is unreachable. */
export const AWAY_MS = 1_000;
const FULL_MS = 5_000;
/** Servers after 2.10: the first message with this id is not stored yet. */
const NOT_YET_SAFE = 10_158;

interface Outgoing {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly headers: MsgHdrs;
  readonly timeout: number;
  readonly msgID: string | undefined;
}

/**
 * Publishes and resolves when a stream has stored the message. A leader of nats-server 2.10 that cannot reach its
 * followers acknowledges a repeated message as a duplicate with sequence 0, although the message is not safe and may be
 * lost later. The message is then published again without the broker's deduplication id; consumers find the id in our
 * own header, and have to accept duplicates anyway.
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

/**
 * Maps a publish error. A message that is too large is the caller's error and is returned unchanged; everything else is
 * a state of the broker.
 */
export function refusalOf(error: unknown, subject: string): Error {
  if (error instanceof InvalidArgumentError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const full = error instanceof JetStreamApiError && error.code !== NOT_YET_SAFE;
  return new BusUnavailable(`NATS did not store a message on ${subject}: ${reason}`, full ? FULL_MS : AWAY_MS, {
    cause: error,
  });
}
