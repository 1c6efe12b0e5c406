import { type AddressedModel, findGeminiCount, findGeminiEndpoint } from './gemini.ts';
import type { ModelApi, ModelDialect } from './model-dialect.ts';

/** The address of a call at the gateway, taken apart. */
export interface GatewayPath {
  readonly connection: string;
  readonly agent: string | undefined;
  readonly run: string | undefined;
  /** The provider's path, without a slash at the start: `v1/messages`. Empty for the base. */
  readonly rest: string;
}

const GATEWAY_PREFIX = '/gw/';

const MAX_PATH_CHARS = 2_048;
const MAX_NAME_CHARS = 256;
/** Characters that mean the same to every router. A name may have others if they are percent-encoded. */
const SEGMENT = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+$/;

/**
 * Reads the path of a request. Undefined if a router could read it as another path: an empty segment, a dot segment, an
 * encoded slash, a control character.
 *
 * @param url path and query as the client sent them
 */
export function readGatewayPath(url: string): GatewayPath | undefined {
  const path = url.split('?', 1)[0] ?? '';
  if (!path.startsWith(GATEWAY_PREFIX) || path.length > MAX_PATH_CHARS) return undefined;
  const raw = path.slice(GATEWAY_PREFIX.length).replace(/\/$/, '').split('/');
  const segments: string[] = [];
  for (const segment of raw) {
    const decoded = decodeSegment(segment);
    if (decoded === undefined) return undefined;
    segments.push(decoded);
  }
  const [connection = '', ...further] = segments;
  const named: { agent?: string; run?: string } = {};
  let at = 0;
  for (const name of ['agent', 'run'] as const) {
    const value = further[at + 1];
    if (further[at] !== name || value === undefined) continue;
    if (value.length > MAX_NAME_CHARS) return undefined;
    named[name] = value;
    at += 2;
  }
  return { connection, agent: named.agent, run: named.run, rest: further.slice(at).join('/') };
}

function decodeSegment(segment: string): string | undefined {
  if (!SEGMENT.test(segment)) return undefined;
  let decoded: string;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    return undefined;
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this refuses
  const isAmbiguous = decoded === '.' || decoded === '..' || /[/\\?#%\u0000-\u001f\u007f]/.test(decoded);
  return isAmbiguous ? undefined : decoded;
}

/** What the gateway does with a path of a dialect. */
export type Endpoint =
  /** Calls a model: decided, metered and recorded. */
  | {
      readonly kind: 'model';
      readonly api: ModelApi;
      /** Path at the provider; `{model}` stands for the model that is sent. */
      readonly path: string;
      /** Present if the address names the model. */
      readonly addressed?: AddressedModel;
    }
  /** Costs nothing: forwarded after the same checks of key, path and size. */
  | { readonly kind: 'free'; readonly path: string }
  /** Answered from the connection. */
  | { readonly kind: 'models' }
  | { readonly kind: 'base' };

/** The paths of each dialect, for errors. */
export const SERVED: Readonly<Record<ModelDialect, readonly string[]>> = {
  anthropic: ['POST /v1/messages', 'POST /v1/messages/count_tokens', 'GET /v1/models'],
  openai: ['POST /v1/chat/completions', 'POST /v1/responses', 'POST /v1/embeddings', 'GET /v1/models'],
  gemini: [
    'POST /v1beta/models/<model>:generateContent',
    ':streamGenerateContent?alt=sse',
    ':embedContent',
    ':batchEmbedContents',
    ':countTokens',
    'GET /v1beta/models',
  ],
};

/** Finds the endpoint of a dialect; undefined if it is not served. */
export function findEndpoint(dialect: ModelDialect, method: string, rest: string): Endpoint | undefined {
  const isRead = method === 'GET' || method === 'HEAD';
  if (dialect === 'gemini') return findGemini(isRead, method, rest);
  if (rest === '' || rest === 'v1') return isRead ? { kind: 'base' } : undefined;
  if (rest === 'v1/models') return isRead ? { kind: 'models' } : undefined;
  if (method !== 'POST') return undefined;
  if (dialect === 'anthropic') {
    // The base address of Anthropic's SDKs does not contain the version.
    if (rest === 'v1/messages') return { kind: 'model', api: 'messages', path: '/v1/messages' };
    return rest === 'v1/messages/count_tokens' ? { kind: 'free', path: '/v1/messages/count_tokens' } : undefined;
  }
  // That of OpenAI's SDKs does.
  if (rest === 'v1/responses') return { kind: 'model', api: 'responses', path: '/responses' };
  if (rest === 'v1/embeddings') return { kind: 'model', api: 'embeddings', path: '/embeddings' };
  return rest === 'v1/chat/completions' ? { kind: 'model', api: 'chat', path: '/chat/completions' } : undefined;
}

/** The API of a request as its provider receives it, for providers of our own. */
export function findProviderCall(
  url: string,
): { readonly api: ModelApi; readonly addressed?: AddressedModel } | undefined {
  const path = url.split('?', 1)[0] ?? '';
  const gemini = findGeminiEndpoint(path.slice(path.lastIndexOf('/v1') + 1));
  if (gemini !== undefined) return gemini;
  const end = path.split('/').at(-1);
  if (end === 'completions') return { api: 'chat' };
  return end === 'messages' || end === 'responses' || end === 'embeddings' ? { api: end } : undefined;
}

function findGemini(isRead: boolean, method: string, rest: string): Endpoint | undefined {
  if (isRead) {
    if (/^(v1(beta|alpha)?)?$/.test(rest)) return { kind: 'base' };
    return /^v1(beta|alpha)?\/models$/.test(rest) ? { kind: 'models' } : undefined;
  }
  if (method !== 'POST') return undefined;
  const count = findGeminiCount(rest);
  if (count !== undefined) return { kind: 'free', path: count };
  const found = findGeminiEndpoint(rest);
  return found === undefined ? undefined : { kind: 'model', ...found };
}

const MAX_QUERY_CHARS = 256;

/** Query parameters that a provider may see; any other one stays here. */
const FORWARDED_QUERY = ['beta'];
/** Forms of an answer of Gemini that the gateway can read. */
const READABLE = ['sse', 'json'];

export function pickQuery(url: string): string {
  const at = url.indexOf('?');
  if (at === -1) return '';
  const picked = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(url.slice(at + 1))) {
    const isWanted = name === 'alt' ? READABLE.includes(value) : FORWARDED_QUERY.includes(name);
    if (isWanted && value.length <= MAX_QUERY_CHARS) picked.append(name, value);
  }
  const text = picked.toString();
  return text === '' ? '' : `?${text}`;
}
