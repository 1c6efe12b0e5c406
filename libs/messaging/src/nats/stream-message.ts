import type { Msg, MsgHdrs } from '@nats-io/nats-core';
import { decodeHeader, ORIGINAL_ID } from '../publish/encoded-message.ts';

const ACK = '+ACK';
const WORKING = '+WPI';
const TERMINATE = '+TERM';
const NANOS_PER_MS = 1_000_000;

/**
 * A JetStream message. Its reply subject contains its position, and replies to it settle the message (ADR-15 of NATS).
 */
export class StreamMessage {
  readonly stream: string;
  readonly attempt: number;
  readonly sequence: number;
  readonly publishedAtMs: number;
  private settled = false;

  constructor(private readonly message: Msg) {
    const tokens = (message.reply ?? '').split('.');
    // $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>; newer servers insert
    // <domain>.<account hash> before the stream.
    const first = tokens.length === 9 ? 2 : 4;
    this.stream = tokens[first] ?? '';
    this.attempt = Number(tokens[first + 2]);
    this.sequence = Number(tokens[first + 3]);
    this.publishedAtMs = Math.floor(Number(tokens[first + 5]) / NANOS_PER_MS);
  }

  get raw(): Uint8Array {
    return this.message.data;
  }

  get subject(): string {
    return this.message.subject;
  }

  get headers(): MsgHdrs | undefined {
    return this.message.headers;
  }

  ack(): void {
    this.settle(ACK);
  }

  /** Redelivers the message after `afterMs`, to any replica. */
  retry(afterMs: number): void {
    this.settle(afterMs > 0 ? `-NAK {"delay":${Math.round(afterMs) * NANOS_PER_MS}}` : '-NAK');
  }

  terminate(): void {
    this.settle(TERMINATE);
  }

  /** Restarts the broker's ack wait. */
  working(): void {
    if (!this.settled) this.message.respond(WORKING);
  }

  private settle(answer: string): void {
    if (this.settled) return;
    this.settled = true;
    this.message.respond(answer);
  }
}

/** Common fields of a stored message, independent of how it was delivered. */
export interface Stored {
  readonly raw: Uint8Array;
  readonly subject: string;
  readonly stream: string;
  readonly attempt: number;
  readonly sequence: number;
  readonly publishedAtMs: number;
  readonly headers: MsgHdrs | undefined;
}

/** Fields of a delivered message. A message without an id is identified by its position in the stream. */
export function factsOf(message: Stored) {
  const { raw, subject, stream, attempt, sequence, publishedAtMs } = message;
  const headers = headersOf(message.headers);
  const id = headers[ORIGINAL_ID] ?? headers['Nats-Msg-Id'];
  return {
    raw,
    subject,
    attempt,
    sequence,
    publishedAtMs,
    headers,
    messageId: id ? decodeHeader(id) : `${stream}:${sequence}`,
  };
}

/** Headers as a plain record; `ce-*` values decoded. */
export function headersOf(headers: MsgHdrs | undefined): Record<string, string> {
  const record: Record<string, string> = {};
  if (!headers) return record;
  for (const [name, values] of headers) {
    const value = values[0] ?? '';
    record[name] = name.startsWith('ce-') ? decodeHeader(value) : value;
  }
  return record;
}
