import { createRequire } from 'node:module';
import type { Agent } from 'undici';
import type { EgressClient, EgressPolicy, EgressRequest, EgressResult } from './egress.ts';
import { AddressRefused, guardedConnector } from './guarded-connector.ts';
import { parseNetworks } from './networks.ts';
import { readCapped } from './read-capped.ts';
import { refuseUrl } from './refuse-address.ts';
import { type ResolveName, rememberingNames, resolveWithSystem } from './resolve-name.ts';
import { reasonOf } from './unreachable.ts';

const load = createRequire(import.meta.url);
/** Loaded with the first client: it costs 6 MB of heap, and most services call nobody. */
const undici = () => load('undici') as typeof import('undici');

const DEFAULT_TIMEOUT_MS = 10_000;
/** As many as a caller has in flight at most: waiting for a connection would use up a request's time. */
const CONNECTIONS_PER_ORIGIN = 64;
const MAX_ORIGINS = 4_096;
const MAX_BODY_BYTES = 64 * 1024;

/** Headers that would change the framing or the host the guard has judged. */
const RESERVED = new Set(
  'connection content-length expect host keep-alive te trailer transfer-encoding upgrade proxy-authorization proxy-connection'.split(
    ' ',
  ),
);

interface EgressClientOptions {
  /** How names are resolved; the system resolver by default. */
  readonly resolve?: ResolveName;
}

/**
 * The only HTTP client for addresses chosen by tenants. Own connections (proxy variables have no effect), no redirects,
 * every answer bounded in size and time, few connections per destination.
 *
 * @throws Error when the policy names something that is not a network.
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
  // One clock for the whole exchange: neither headers nor a body dripping byte by byte can outlast it. It goes with the
  // exchange: a signal of the runtime's own would be kept, with all it refers to, until its time is up.
  const deadline = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    deadline.abort();
    // A request that waits for a connection does not hear its signal; it is dropped unsent once it gets one.
    late.reject(new Error('out of time'));
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

async function call(agent: Agent, url: URL, wanted: EgressRequest, timeoutMs: number, deadline: AbortSignal) {
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
