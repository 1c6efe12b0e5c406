import { type Topic, utf8Text } from '@agentlens/contracts';
import { type RawMessage, type Received, UnreadableMessage } from '../event-bus.ts';

export type Parsed<T> =
  | { readonly ok: true; readonly message: Received<T> }
  | { readonly ok: false; readonly reason: string };

/** Parses a message. The reason names the field but never quotes content. */
export function parseMessage<T>(topic: Topic<T>, from: RawMessage): Parsed<T> {
  let json: unknown;
  try {
    json = topic.parse === undefined ? JSON.parse(utf8Text(from.raw)) : topic.parse(from.raw);
  } catch {
    return { ok: false, reason: `not JSON (topic ${topic.name})` };
  }
  const parsed = topic.schema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return {
      ok: false,
      reason: `does not fit topic ${topic.name}: ${issue?.path.join('.') || 'message'}: ${issue?.message}`,
    };
  }
  const { raw, subject, messageId, attempt, sequence, publishedAtMs, headers } = from;
  return {
    ok: true,
    message: { value: parsed.data, raw, subject, messageId, attempt, sequence, publishedAtMs, headers },
  };
}

/** A message that is parsed when its value is first read. */
export class LazyMessage<T> implements Received<T> {
  readonly raw: Uint8Array;
  readonly subject: string;
  readonly messageId: string;
  readonly attempt: number;
  readonly sequence: number;
  readonly publishedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #topic: Topic<T>;
  #parsed: Parsed<T> | undefined;

  constructor(topic: Topic<T>, from: RawMessage) {
    this.raw = from.raw;
    this.subject = from.subject;
    this.messageId = from.messageId;
    this.attempt = from.attempt;
    this.sequence = from.sequence;
    this.publishedAtMs = from.publishedAtMs;
    this.headers = from.headers;
    this.#topic = topic;
  }

  get value(): T {
    this.#parsed ??= parseMessage(this.#topic, this);
    if (!this.#parsed.ok) throw new UnreadableMessage(this.#parsed.reason);
    return this.#parsed.message.value;
  }
}
