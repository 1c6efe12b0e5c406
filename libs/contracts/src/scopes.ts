/**
 * What a key may do. `ingest`: send events. `decide`: ask for decisions. `read`: see. `review`: decide alerts and
 * approvals. `admin`: everything in its tenant. `platform`: make tenants, and see nothing of what is in them; a key with it
 * belongs to no tenant that has agents.
 */
export const SCOPES = ['ingest', 'decide', 'read', 'review', 'admin', 'platform'] as const;
export type Scope = (typeof SCOPES)[number];

/** What a tenant's own admin can give. */
export const TENANT_SCOPES = SCOPES.filter((scope) => scope !== 'platform');

/** Whether a key with the scopes `held` may do what needs one of `needed`. */
export function mayDo(held: readonly Scope[], needed: readonly Scope[]): boolean {
  return needed.some((scope) => held.includes(scope) || (scope !== 'platform' && held.includes('admin')));
}
