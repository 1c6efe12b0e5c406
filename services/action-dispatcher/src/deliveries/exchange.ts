import { type DeliveryExchange, MOST_ANSWERED_BODY, MOST_SENT_BODY } from '@agentlens/contracts';
import type { ActionRequest, ActionResponse } from '@agentlens/guardrails';
import { redactDeep, redactJson } from '@agentlens/guardrails/redact';

type Headers = Readonly<Record<string, string>>;

const MASKED = '[masked]';
/** Headers that say how it was sent and answered. Any other may be a secret: rules name their own. */
const SHOWN = new Set([
  ...['content-type', 'content-length', 'date', 'retry-after', 'server', 'traceparent'],
  ...['webhook-id', 'webhook-timestamp'],
]);
const MOST_HEADERS = 40;
const MOST_VALUE = 300;
/** Shorter texts stand in an answer by chance. */
const SHORTEST_SECRET = 6;
/** What is longer is not looked through for a record. */
const MOST_READ = 1024 ** 2;

/** What may be kept of a request and its answer: redacted, without what was sent as a secret, and cut. Never throws. */
export function exchangeOf(request: ActionRequest, response: ActionResponse | undefined): DeliveryExchange {
  const { method, url, headers, body } = request;
  const secrets = secretsOf(request);
  return {
    request: {
      method,
      origin: URL.parse(url)?.origin ?? '',
      headers: shownHeaders(headers),
      ...shownBody(body, secrets, MOST_SENT_BODY),
    },
    response:
      response?.kind === 'answered'
        ? {
            status: response.status,
            headers: shownHeaders(response.headers),
            ...shownBody(response.body, secrets, MOST_ANSWERED_BODY),
          }
        : null,
  };
}

/** Header values and the path of the address: receivers repeat both, in what they say of a request they do not like. */
function secretsOf({ url, headers }: ActionRequest): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    isShown(name) ? [] : [value, ...value.split(' ')],
  );
  const { pathname = '', search = '', searchParams } = URL.parse(url) ?? {};
  const parts = [`${pathname}${search}`, pathname, ...(searchParams?.values() ?? [])];
  return [...values, ...parts].filter((text) => text.length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length);
}

function isShown(name: string): boolean {
  return SHOWN.has(name.toLowerCase());
}

function shownHeaders(headers: Headers): Record<string, string> {
  const some = Object.entries(headers).slice(0, MOST_HEADERS);
  return Object.fromEntries(
    some.map(([name, value]) => [keepable(name), isShown(name) ? keepable(value.slice(0, MOST_VALUE)) : MASKED]),
  );
}

function shownBody(body: string | undefined, secrets: readonly string[], most: number) {
  if (body === undefined || body === '') return { body: null, bodyBytes: 0, bodyCut: false };
  const bodyBytes = Buffer.byteLength(body);
  if (bodyBytes > MOST_READ) return { body: '[too long]', bodyBytes, bodyCut: true };
  // Redacted whole, then cut: half of a secret is not known for one.
  const unmasked = secrets.reduce((text, secret) => text.replaceAll(secret, MASKED), body);
  const bytes = Buffer.from(keepable(redacted(unmasked)));
  const bodyCut = bytes.byteLength > most;
  return { body: bodyCut ? wholeCharacters(bytes.subarray(0, most)) : bytes.toString('utf8'), bodyBytes, bodyCut };
}

function redacted(text: string): string {
  try {
    return redactJson(text);
  } catch {
    // No JSON: a page of HTML, a line of text, or JSON that was cut while it was read.
    return String(redactDeep(text));
  }
}

/** Postgres keeps neither NUL nor half a surrogate pair in JSON. */
function keepable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd');
}

function wholeCharacters(bytes: Buffer): string {
  // The decoder holds back a character of which the end is missing.
  return new TextDecoder().decode(bytes, { stream: true });
}
