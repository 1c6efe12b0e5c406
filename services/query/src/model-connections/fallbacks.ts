import type { ModelConnectionDraft } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import { ProblemException } from '@agentlens/platform';
import type { Kysely } from 'kysely';

/** A connection of the tenant, and which one gets its calls if it fails. */
export interface ConnectionLink {
  readonly name: string;
  readonly dialect: string;
  readonly fallback: string | null;
}

/** All connections of a tenant: at most `MAX_MODEL_CONNECTIONS`. */
export function readLinks(tx: Kysely<Tables>, tenantId: string): Promise<ConnectionLink[]> {
  return tx
    .selectFrom('provider_connections')
    .select(['name', 'dialect', 'fallback'])
    .where('tenant_id', '=', tenantId)
    .orderBy('name')
    .execute();
}

/**
 * Requires that the fallback of a connection exists, speaks its dialect, and does not lead back to it.
 *
 * @param links the connections as they are stored
 * @throws ProblemException 400 that names the field
 */
export function requireFallback(
  name: string,
  { dialect, fallback }: Pick<ModelConnectionDraft, 'dialect' | 'fallback'>,
  links: readonly ConnectionLink[],
): void {
  const byName = new Map(links.map((link) => [link.name, link]));
  const users = links.filter((link) => link.fallback === name && link.name !== name && link.dialect !== dialect);
  if (users.length > 0) refuse('dialect', `must stay the same: this connection is the fallback of ${list(users)}`);
  if (fallback === undefined) return;
  const way = [name];
  for (let next: string | null = fallback; next !== null; next = byName.get(next)?.fallback ?? null) {
    way.push(next);
    if (next === name) refuse('fallback', `must not lead back to this connection: ${way.join(' → ')}`);
    if (way.length > links.length + 1) break;
  }
  const target = byName.get(fallback);
  if (target === undefined) refuse('fallback', 'there is no connection of that name; create it first');
  if (target.dialect === dialect) return;
  refuse('fallback', `must speak the dialect ${dialect}; "${fallback}" speaks ${target.dialect}`);
}

/** @throws ProblemException 409 if the connection is the fallback of another one */
export function requireUnused(name: string, links: readonly ConnectionLink[]): void {
  const users = links.filter((link) => link.fallback === name && link.name !== name);
  if (users.length === 0) return;
  throw new ProblemException(409, `The connection is the fallback of ${list(users)}`, {
    hint: 'Remove or change the fallback of that connection first.',
  });
}

function list(links: readonly ConnectionLink[]): string {
  const names = links.slice(0, 5).map(({ name }) => `"${name}"`);
  return links.length > names.length ? `${names.join(', ')} and others` : names.join(', ');
}

function refuse(path: string, message: string): never {
  throw new ProblemException(400, 'Validation failed', { details: [{ path, message }] });
}
