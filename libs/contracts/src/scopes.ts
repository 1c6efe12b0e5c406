/**
 * Permissions of a key. `ingest`: send events. `decide`: request decisions. `model`: call models through the gateway.
 * `read`: view. `review`: decide alerts and approvals. `operate`: give orders to agents and runs. `edit`: change rules,
 * budgets and limits. `admin`: everything in its tenant. `platform`: create tenants, without access to their contents;
 * such a key belongs to no tenant with agents.
 */
export const SCOPES = ['ingest', 'decide', 'model', 'read', 'review', 'operate', 'edit', 'admin', 'platform'] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes that a tenant's own admin can grant. */
export const TENANT_SCOPES = SCOPES.filter((scope) => scope !== 'platform');

/** Returns whether a key with the scopes `held` may do what requires one of `needed`. */
export function mayDo(held: readonly Scope[], needed: readonly Scope[]): boolean {
  return needed.some((scope) => held.includes(scope) || (scope !== 'platform' && held.includes('admin')));
}
