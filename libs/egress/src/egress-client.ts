import { createRequire } from 'node:module';
import type { Agent, Dispatcher } from 'undici';
import { parseNetworks } from './address-verdict.ts';
import type { EgressClient, EgressPolicy, EgressRequest, EgressResult } from './egress.ts';
import { AddressRefused, guardedConnector } from './guarded-connector.ts';
import { refuseUrl } from './refuse-address.ts';
import { type ResolveName, rememberingNames, resolveWithSystem } from './resolve-name.ts';

/** Reads up to `limit` bytes of a body as text and then drops the connection. */
async function readCapped(body: Dispatcher.ResponseData['body'], limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (size >= limit) break; // leaving the loop destroys the stream
  }
  return Buffer.concat(chunks).subarray(0, limit).toString('utf8');
}

/** Reasons for errors below HTTP. Raw error messages would reveal addresses that our resolver found. */
const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved at the moment',
  ENODATA: 'the host name has no address',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connecting timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connecting timed out',
  UND_ERR_HEADERS_TIMEOUT: 'no answer before the timeout',
  UND_ERR_BODY_TIMEOUT: 'the answer stalled',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
  UND_ERR_SOCKET: 'connection closed before the answer was complete',
  UND_ERR_MAX_ORIGINS_REACHED: 'too many destinations at once',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate cannot be verified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another host',
};

export function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === null) return 'no complete answer';
  if (code.startsWith('HPE_')) return 'the answer is not HTTP';
  return REASONS[code] ?? (/SSL|TLS/.test(code) ? 'TLS handshake failed' : `no complete answer (${code})`);
}

/** Checks properties instead of the class, because errors may come from another realm. */
function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  if ('code' in error && typeof error.code === 'string') return error.code;
  // Several addresses were tried and all failed; the first failure represents them.
  if ('errors' in error && Array.isArray(error.errors)) return codeOf(error.errors[0]);
  return 'cause' in error ? codeOf(error.cause) : null;
}

const load = createRequire(import.meta.url);
/** Loaded with the first client: it takes 6 MB of heap, and most services send no requests. */
export const undici = () => load('undici') as typeof import('undici');

const DEFAULT_TIMEOUT_MS = 10_000;
/**
 * At least the maximum number of concurrent requests, because waiting for a connection counts towards a request's
 * timeout.
 */
const CONNECTIONS_PER_ORIGIN = 64;
const MAX_ORIGINS = 4_096;
const MAX_BODY_BYTES = 64 * 1024;

/** Headers that would change the framing, or the host that the guard has checked. */
const RESERVED = new Set(
  'connection content-length expect host keep-alive te trailer transfer-encoding upgrade proxy-authorization proxy-connection'.split(
    ' ',
  ),
);

interface EgressClientOptions {
  /** Name resolution; defaults to the system resolver. */
  readonly resolve?: ResolveName;
}

/**
 * The only HTTP client for addresses chosen by tenants. It uses its own connections (proxy variables have no effect),
 * follows no redirects, limits the size and time of every answer, and limits connections per destination.
 *
 * @throws Error if the policy contains an invalid network
 */
export function createEgressClient(policy: EgressPolicy, options: EgressClientOptions = {}): EgressClient {
  const networks = parseNetworks(policy.allow);
  const { Agent, buildConnector } = undici();
  const agent = new Agent({
    connect: guardedConnector(buildConnector, networks, rememberingNames(options.resolve ?? resolveWithSystem)),
    connections: CONNECTIONS_PER_ORIGIN,
    maxOrigins: MAX_ORIGINS,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
  });

  return {
    async send(wanted) {
      const url = URL.parse(wanted.url);
      if (url === null) return refused('the address is not a valid URL');
      const refusal = refuseUrl(url, networks) ?? refuseHeaders(wanted.headers);
      if (refusal !== null) return refused(`the address ${refusal}`);
      return exchange(agent, url, wanted);
    },
    close: () => agent.destroy(),
  };
}

async function exchange(agent: Agent, url: URL, wanted: EgressRequest): Promise<EgressResult> {
  const timeoutMs = wanted.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  // One timeout for the whole exchange, so that slow headers or a slow body cannot outlast it. Cleared with the
  // exchange, because `AbortSignal.timeout` would keep everything it references alive until it fires.
  const deadline = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    deadline.abort();
    // A request that waits for a connection ignores its signal; it is dropped unsent when it gets one.
    late.reject(new Error('timeout'));
  }, timeoutMs);
  try {
    return await Promise.race([call(agent, url, wanted, timeoutMs, deadline.signal), late.promise]);
  } catch (error) {
    if (error instanceof AddressRefused) return refused(`the address ${error.message}`);
    if (deadline.signal.aborted) return { kind: 'unreachable', reason: `no complete answer within ${timeoutMs} ms` };
    return { kind: 'unreachable', reason: reasonOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Lets the event loop read what arrived on idle connections. undici looks once whether a connection is still open, at the
 * end of the turn in which it gets a request. In a process that is short of CPU a turn can take longer than servers keep
 * idle connections, so that the end of one has arrived unread, and the request would be lost with it.
 */
export function readIdleConnections(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function call(agent: Agent, url: URL, wanted: EgressRequest, timeoutMs: number, deadline: AbortSignal) {
  await readIdleConnections();
  const answer = await undici().request(url, {
    dispatcher: agent,
    method: wanted.method,
    headers: { ...wanted.headers },
    body: wanted.body ?? null,
    signal: deadline,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const body = await readCapped(answer.body, MAX_BODY_BYTES);
  return { kind: 'answered', status: answer.statusCode, headers: flat(answer.headers), body } as const;
}

function refused(reason: string): EgressResult {
  return { kind: 'refused', reason };
}

function refuseHeaders(headers: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(headers)) {
    if (RESERVED.has(name.toLowerCase())) return `cannot be called with the header "${name}", which is set by us`;
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      return 'cannot be called: a header name has characters not allowed';
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      return `cannot be called: the value of header "${name}" has characters not allowed`;
    }
  }
  return null;
}

function flat(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}
