import { type Client, createClient } from '@agentlens/client';
import type { Scope } from '@agentlens/contracts/schemas';
import { CLIENT_CAPABILITIES_META_KEY, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { NOTICE } from './answer.ts';
import { registerPrompts, registerResources } from './prompts.ts';
import { registerTools } from './confirmation.ts';

/** On whose behalf a server answers. The platform checks the key again at every request that `client` makes. */
export interface McpSession {
  /** Sends the caller's own key. */
  readonly client: Client;
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** The address of the console, without a slash at its end. */
  readonly consoleUrl: string;
  /** Of the platform. */
  readonly version: string;
}

/** Whether a key with these scopes may do what needs `scope`. A key that speaks for agents decides nothing for people. */
export function permits(scopes: readonly Scope[], scope: Scope): boolean {
  if (scopes.includes('admin')) return true;
  if (scope === 'review' && (scopes.includes('ingest') || scopes.includes('decide'))) return false;
  return scopes.includes(scope);
}

const INSTRUCTIONS =
  'AgentLens watches AI agents and stops what its rules forbid. Begin with agentlens_guardrails, which without arguments ' +
  `answers the active rules and what they did. ${NOTICE} Changes that let agents do more ask the user first.`;

/** An MCP server that may do what the key of this session may, for one request or one connection. */
export function createMcpServer(session: McpSession): McpServer {
  const server = new McpServer(
    { name: 'agentlens', title: 'AgentLens', version: session.version, websiteUrl: session.consoleUrl },
    { instructions: INSTRUCTIONS },
  );
  registerTools(server, session);
  registerPrompts(server, session);
  registerResources(server, session);
  return server;
}

const Capabilities = z.object({ elicitation: z.object({ form: z.unknown(), url: z.unknown() }).partial().optional() });

/**
 * Whether the client can show its user a form. Clients of 2026 say so at every request, older ones when they connect: over
 * HTTP, where every request is served alone, nothing is known of these.
 */
export function canAskUser({ server }: McpServer, { mcpReq }: ServerContext): boolean {
  const envelope = (mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>;
  const declared = Capabilities.safeParse(envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities());
  const elicitation = declared.data?.elicitation;
  if (elicitation === undefined) return false;
  // Without a mode it means forms, as it did before there were modes.
  return elicitation.form !== undefined || elicitation.url === undefined;
}

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
