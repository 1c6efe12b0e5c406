import { createClient } from '@agentlens/client';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createMcpServer } from './mcp-server.ts';
import type { McpSession } from './mcp-session.ts';

interface StdioServerOptions {
  /** Where the platform answers. */
  readonly url: string;
  readonly key: string;
  /** Ends the server. */
  readonly signal?: AbortSignal;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
  /** Told of what goes wrong beside the protocol; standard output belongs to the protocol. */
  readonly onError?: (error: Error) => void;
}

/**
 * Serves MCP on standard input and output until the input ends or `signal` fires.
 * @throws ProblemError when the key is refused; TypeError or DOMException when the platform does not answer
 */
export async function runStdio({ url, key, signal, fetch, onError }: StdioServerOptions): Promise<void> {
  const consoleUrl = url.replace(/\/+$/, '');
  const client = createClient({ baseUrl: consoleUrl, key, fetch });
  const { tenantId, keyId, scopes, version } = await client.getMe();
  const session: McpSession = { client, tenantId, keyId, scopes, version, consoleUrl };
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('close', resolve).once('end', resolve);
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  const server = serveStdio(() => createMcpServer(session), { onerror: onError });
  await ended;
  await server.close();
}
