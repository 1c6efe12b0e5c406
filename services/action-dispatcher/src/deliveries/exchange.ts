import { type DeliveryExchange, MAX_ANSWERED_BODY_BYTES, MAX_SENT_BODY_BYTES } from '@agentlens/contracts';
import type { ActionRequest, ActionResponse } from '@agentlens/guardrails';
import { redactDeep, redactJson } from '@agentlens/guardrails/redact';

type Headers = Readonly<Record<string, string>>;

const MASKED = '[masked]';
/** Headers whose values are kept. Any other may be a secret, because rules name headers of their own. */
const SHOWN = new Set([
  ...['content-type', 'content-length', 'date', 'retry-after', 'server', 'traceparent'],
  ...['webhook-id', 'webhook-timestamp'],
]);
const MAX_HEADERS = 40;
const MAX_VALUE_LENGTH = 300;
/** Shorter texts occur in responses by chance and are not masked. */
const MIN_SECRET_LENGTH = 6;
/** Longer bodies are not kept. */
const MAX_READ_BYTES = 1024 ** 2;

/** The part of a request and its response that may be kept: redacted, masked and truncated. Never throws. */
export function exchangeOf(request: ActionRequest, response: ActionResponse | undefined): DeliveryExchange {
  const { method, url, headers, body } = request;
  const secrets = secretsOf(request);
  return {
    request: {
      method,
      origin: URL.parse(url)?.origin ?? '',
      headers: shownHeaders(headers),
      ...shownBody(body, secrets, MAX_SENT_BODY_BYTES),
    },
    response:
      response?.kind === 'answered'
        ? {
            status: response.status,
            headers: shownHeaders(response.headers),
            ...shownBody(response.body, secrets, MAX_ANSWERED_BODY_BYTES),
          }
        : null,
  };
}

/** Header values and parts of the address, because receivers repeat both in error messages. */
function secretsOf({ url, headers }: ActionRequest): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    isShown(name) ? [] : [value, ...value.split(' ')],
  );
  const { pathname = '', search = '', searchParams } = URL.parse(url) ?? {};
  const parts = [`${pathname}${search}`, pathname, ...(searchParams?.values() ?? [])];
  return [...values, ...parts].filter((text) => text.length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length);
}

function isShown(name: string): boolean {
  return SHOWN.has(name.toLowerCase());
}

function shownHeaders(headers: Headers): Record<string, string> {
  const some = Object.entries(headers).slice(0, MAX_HEADERS);
  return Object.fromEntries(
    some.map(([name, value]) => [keepable(name), isShown(name) ? keepable(value.slice(0, MAX_VALUE_LENGTH)) : MASKED]),
  );
}

function shownBody(body: string | undefined, secrets: readonly string[], most: number) {
  if (body === undefined || body === '') return { body: null, bodyBytes: 0, bodyCut: false };
  const bodyBytes = Buffer.byteLength(body);
  if (bodyBytes > MAX_READ_BYTES) return { body: '[too long]', bodyBytes, bodyCut: true };
  // Redacts before truncating: half a secret is not recognised.
  const unmasked = secrets.reduce((text, secret) => text.replaceAll(secret, MASKED), body);
  const bytes = Buffer.from(keepable(redacted(unmasked)));
  const bodyCut = bytes.byteLength > most;
  return { body: bodyCut ? wholeCharacters(bytes.subarray(0, most)) : bytes.toString('utf8'), bodyBytes, bodyCut };
}

function redacted(text: string): string {
  try {
    return redactJson(text);
  } catch {
    // Not JSON: HTML, plain text, or JSON that was truncated while it was read.
    return String(redactDeep(text));
  }
}

/** Postgres rejects NUL and lone surrogates in JSON. */
function keepable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

function wholeCharacters(bytes: Buffer): string {
  // In stream mode the decoder holds back an incomplete character.
  return new TextDecoder().decode(bytes, { stream: true });
}
