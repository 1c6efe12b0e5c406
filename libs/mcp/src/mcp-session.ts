import type { Client } from '@agentlens/client';
import type { Scope } from '@agentlens/contracts/schemas';

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
