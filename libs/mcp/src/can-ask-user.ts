import { CLIENT_CAPABILITIES_META_KEY, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';

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
