import { createClient } from '@agentlens/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { MemoryConfirmations } from './confirmations.ts';
import { createMcpServer } from './mcp-server.ts';
import type { McpSession } from './session.ts';

interface StdioServerOptions {
  /** Address of the platform. */
  readonly url: string;
  readonly key: string;
  /** Stops the server. */
  readonly signal?: AbortSignal;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** Receives errors outside the protocol; standard output carries the protocol. */
  readonly onError?: (error: Error) => void;
}

/**
 * Serves MCP on standard input and output until the input ends or `signal` aborts.
 *
 * @throws ProblemError if the key is rejected; TypeError or DOMException if the platform does not answer
 */
export async function runStdio({ url, key, signal, fetch, onError }: StdioServerOptions): Promise<void> {
  const consoleUrl = url.replace(/\/+$/, '');
  const client = createClient({ baseUrl: consoleUrl, key, fetch });
  const { tenantId, keyId, scopes, version } = await client.getMe();
  const confirmations = new MemoryConfirmations();
  const session: McpSession = { client, tenantId, keyId, scopes, version, consoleUrl, confirmations };
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('close', resolve).once('end', resolve);
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  const server = serveStdio(() => createMcpServer(session), { onerror: onError });
  await ended;
  await server.close();
}
