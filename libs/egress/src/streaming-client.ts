import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import { parseNetworks } from './address-verdict.ts';
import type { EgressPolicy } from './egress.ts';
import { readIdleConnections, reasonOf, undici } from './egress-client.ts';
import { AddressRefused, guardedConnector } from './guarded-connector.ts';
import { refuseUrl } from './refuse-address.ts';
import { type ResolveName, rememberingNames, resolveWithSystem } from './resolve-name.ts';

/** How long the parts of an exchange may take, in milliseconds. */
export interface StreamingTimeouts {
  readonly firstByteMs: number;
  readonly betweenChunksMs: number;
}

export interface StreamingRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly timeouts: StreamingTimeouts;
  /** Ends the exchange at once, also while the body is read. */
  readonly signal: AbortSignal;
}

/**
 * The head of an answer; its body follows. `refused`: blocked by the guard. `unreachable`: nothing was answered.
 * `late`: no head in time. Redirects are returned, never followed.
 */
export type OpenedAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
      readonly body: Readable;
    }
  | { readonly kind: 'refused' | 'unreachable' | 'late'; readonly reason: string };

export interface StreamingClient {
  /** @throws what the signal was aborted with */
  open(request: StreamingRequest): Promise<OpenedAnswer>;
  close(): Promise<void>;
}

const CONNECTIONS_PER_ORIGIN = 4_096;
const MAX_ORIGINS = 1_024;

/**
 * A client for long answers from addresses that tenants choose. The guard is that of `createEgressClient`; size and
 * total time are up to the caller, which reads the body.
 *
 * @throws Error if the policy contains an invalid network
 */
export function createStreamingClient(
  policy: EgressPolicy,
  options: { readonly resolve?: ResolveName } = {},
): StreamingClient {
  const networks = parseNetworks(policy.allow);
  const { Agent, buildConnector } = undici();
  const agent: Agent = new Agent({
    connect: guardedConnector(buildConnector, networks, rememberingNames(options.resolve ?? resolveWithSystem)),
    connections: CONNECTIONS_PER_ORIGIN,
    maxOrigins: MAX_ORIGINS,
    pipelining: 1,
    maxHeaderSize: 64 * 1024,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
  });
  return {
    async open({ method, url: text, headers, body, timeouts, signal }) {
      const url = URL.parse(text);
      if (url === null) return { kind: 'refused', reason: 'the address is not a valid URL' };
      const refusal = refuseUrl(url, networks);
      if (refusal !== null) return { kind: 'refused', reason: `the address ${refusal}` };
      await readIdleConnections();
      try {
        const answer = await undici().request(url, {
          dispatcher: agent,
          method,
          headers: { ...headers },
          body: body ?? null,
          signal,
          headersTimeout: timeouts.firstByteMs,
          bodyTimeout: timeouts.betweenChunksMs,
        });
        // Readers get errors by reading. Without a listener, a body that is left unread would end the process.
        answer.body.on('error', () => undefined);
        return { kind: 'answered', status: answer.statusCode, headers: answer.headers, body: answer.body };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (error instanceof AddressRefused) return { kind: 'refused', reason: `the address ${error.message}` };
        const { code } = error as { code?: unknown };
        return { kind: code === 'UND_ERR_HEADERS_TIMEOUT' ? 'late' : 'unreachable', reason: reasonOf(error) };
      }
    },
    close: () => agent.destroy(),
  };
}
