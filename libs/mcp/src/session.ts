import type { Client } from '@agentlens/client';
import type { Scope } from '@agentlens/contracts/schemas';
import { CLIENT_CAPABILITIES_META_KEY, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Confirmations } from './confirmations.ts';

/** The caller. The platform checks the key again at every request of `client`. */
export interface McpSession {
  /** Sends the caller's own key. */
  readonly client: Client;
  readonly tenantId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  /** Address of the console, without a trailing slash. */
  readonly consoleUrl: string;
  /** Version of the platform. */
  readonly version: string;
  readonly confirmations: Confirmations;
}

/**
 * Whether a key with these scopes may do what needs `scope`. A key that represents agents decides nothing for people.
 */
export function permits(scopes: readonly Scope[], scope: Scope): boolean {
  if (scopes.includes('admin')) return true;
  if (scope === 'review' && (scopes.includes('ingest') || scopes.includes('decide'))) return false;
  return scopes.includes(scope);
}

const Capabilities = z.object({ elicitation: z.object({ form: z.unknown(), url: z.unknown() }).partial().optional() });

/**
 * Whether the client can show forms. Clients of 2026 declare it with every request, older ones when connecting, so over
 * HTTP it is unknown for the latter.
 */
export function canAskUser({ server }: McpServer, { mcpReq }: ServerContext): boolean {
  const envelope = (mcpReq.envelope ?? {}) as Readonly<Record<string, unknown>>;
  const declared = Capabilities.safeParse(envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities());
  const elicitation = declared.data?.elicitation;
  if (elicitation === undefined) return false;
  // Without a mode it means forms, as before modes existed.
  return elicitation.form !== undefined || elicitation.url === undefined;
}
