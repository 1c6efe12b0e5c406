import { type Client, createClient, ProblemError } from '@agentlens/client';
import { UnreachableError } from './errors.ts';
import { type Connection, needKey } from './settings/connection.ts';

export interface PlatformClientOptions {
  readonly connection: Connection;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
  /** Ends every call when the user presses Ctrl-C. */
  readonly signal: AbortSignal;
  readonly userAgent: string;
  /** Called when a stream is lost; the client reconnects. */
  readonly onStreamLost?: (error: UnreachableError) => void;
}

/**
 * Finds the first key that the platform accepts; the last candidate is not checked. @throws CommandError if there is
 * none
 */
export async function chooseKey(options: PlatformClientOptions): Promise<string> {
  const [first, ...others] = needKey(options.connection);
  let { key } = first;
  for (const other of others) {
    if (await isKnown(key, options)) return key;
    key = other.key;
  }
  return key;
}

/** Creates a client with this key, or without one. */
export function clientWith(key: string | undefined, options: PlatformClientOptions): Client {
  const { connection, timeoutMs, userAgent } = options;
  const headers = { 'user-agent': userAgent };
  return createClient({ baseUrl: connection.url, key, timeoutMs, headers, fetch: interruptible(options) });
}

async function isKnown(key: string, options: PlatformClientOptions): Promise<boolean> {
  try {
    await clientWith(key, options).getMe();
    return true;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 401) return false;
    throw error;
  }
}

/** `fetch` that the user can interrupt and that explains a missing response. */
export function interruptible(options: PlatformClientOptions): typeof globalThis.fetch {
  const { connection, fetch, signal, onStreamLost } = options;
  return async (input, init) => {
    const signals = [signal, init?.signal].filter((one) => one instanceof AbortSignal);
    try {
      return await fetch(input, { ...init, signal: AbortSignal.any(signals) });
    } catch (error) {
      if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')) throw error;
      const unreachable = new UnreachableError(connection.url, reasonOf(error));
      if (new Headers(init?.headers).get('accept') === 'text/event-stream') onStreamLost?.(unreachable);
      throw unreachable;
    }
  };
}

/** Finds the underlying cause of Node's "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]);
  if (cause instanceof Error) return reasonOf(cause);
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : REASONS[code];
  return known === undefined ? error.message : `${known} (${code})`;
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'the host name cannot be resolved at the moment',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; to trust it, set NODE_EXTRA_CA_CERTS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
};
