type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** What the provider may see of a client's request. Everything else stays here: credentials, cookies, addresses. */
const REQUEST_HEADERS: readonly string[] = [
  'accept',
  'anthropic-beta',
  'anthropic-version',
  'content-type',
  'idempotency-key',
  'openai-beta',
  'user-agent',
  'x-goog-api-client',
];

/** What the client may see of a provider's answer. */
const ANSWER_HEADERS = [
  'content-type',
  'request-id',
  'x-request-id',
  'openai-processing-ms',
  'openai-version',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
];
const ANSWER_PREFIXES = ['anthropic-ratelimit-', 'x-ratelimit-'];

/** Headers that a connection may not forward: they carry credentials, or belong to one hop. */
const NEVER =
  /^(authorization|proxy-.*|x-api-key|api-key|x-goog-api-key|cookie|set-cookie|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|content-encoding|accept-encoding|expect|forwarded|via|x-forwarded-.*|x-real-ip|x-agentlens-.*|location)$/;

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** Whether a connection may forward this header of its clients. */
export function isForwardable(name: string): boolean {
  return NAME.test(name) && !NEVER.test(name);
}

/** @param further headers that the connection forwards as well */
export function pickRequestHeaders(headers: Headers, further: readonly string[] = []): Record<string, string> {
  return pick(headers, (name) => REQUEST_HEADERS.includes(name) || (further.includes(name) && isForwardable(name)));
}

export function pickAnswerHeaders(headers: Headers): Record<string, string> {
  return pick(
    headers,
    (name) => ANSWER_HEADERS.includes(name) || ANSWER_PREFIXES.some((prefix) => name.startsWith(prefix)),
  );
}

function pick(headers: Headers, isWanted: (name: string) => boolean): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (value !== undefined && isWanted(lower)) picked[lower] = Array.isArray(value) ? value.join(', ') : value;
  }
  return picked;
}

/** A coding agent that names itself and its session with every request. */
export interface KnownClient {
  /** The agent's id unless the key or the address names another. */
  readonly agent: string;
  readonly session: string | undefined;
}

const CLIENTS: readonly { readonly agent: string; readonly userAgent: RegExp; readonly session: string }[] = [
  { agent: 'claude-code', userAgent: /^claude-(cli|code)\//, session: 'x-claude-code-session-id' },
  { agent: 'codex', userAgent: /^codex[_-]/, session: 'session-id' },
  // It names no session.
  { agent: 'gemini-cli', userAgent: /^GeminiCLI\//, session: '' },
];

export function findClient(headers: Headers): KnownClient | undefined {
  const userAgent = headers['user-agent'];
  if (typeof userAgent !== 'string') return undefined;
  const client = CLIENTS.find((one) => one.userAgent.test(userAgent));
  if (client === undefined) return undefined;
  const session = headers[client.session];
  return { agent: client.agent, session: typeof session === 'string' && session !== '' ? session : undefined };
}
