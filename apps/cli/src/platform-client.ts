import { type Client, createClient, ProblemError } from '@agentlens/client';
import { UnreachableError } from './errors.ts';
import { type Connection, needKey } from './settings/connection.ts';

export interface PlatformClientOptions {
  readonly connection: Connection;
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
  /** Ends every call: the user pressed Ctrl-C. */
  readonly signal: AbortSignal;
  readonly userAgent: string;
  /** Called when a stream cannot be had for a while; it is tried again. */
  readonly onStreamLost?: (error: UnreachableError) => void;
}

/** The first key that the platform knows; the last one is taken unasked. @throws CommandError where there is none */
export async function chooseKey(options: PlatformClientOptions): Promise<string> {
  const [first, ...others] = needKey(options.connection);
  let { key } = first;
  for (const other of others) {
    if (await isKnown(key, options)) return key;
    key = other.key;
  }
  return key;
}

/** A client with this key, or with none. */
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

/** `fetch` that the user may end, and that says why there was no answer. */
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

/** What Node knows of a request that failed: the causes of "fetch failed" say more than it does. */
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
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name cannot be looked up now',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection was closed',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself; set NODE_EXTRA_CA_CERTS to trust it',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};
