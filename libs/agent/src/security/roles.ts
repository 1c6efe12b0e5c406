import { AgentError } from '../core/agent-error.ts';
import { matchesGlob } from '../permissions/paths.ts';

export const ROLE_ACTIONS = [
  ...(['agent.create', 'tool.register', 'rule.edit', 'prompt.publish', 'session.read', 'session.input'] as const),
  ...(['permission.answer', 'memory.read', 'memory.write'] as const),
] as const;
export type RoleAction = (typeof ROLE_ACTIONS)[number];

/** Who acts: a name for the records, and the roles that decide. */
export interface Principal {
  readonly id: string;
  readonly roles: readonly string[];
}

/** What a role may do, and with what, as globs over names: `{ 'tool.register': ['http*'] }`. */
export type RoleGrants = Partial<Record<RoleAction, readonly string[]>>;

/** Permissions inside one process. Without roles, the process itself may do everything. */
export class Roles {
  readonly #grants: ReadonlyMap<string, RoleGrants>;

  constructor(grants: Readonly<Record<string, RoleGrants>>) {
    this.#grants = new Map(Object.entries(grants));
  }

  allows(principal: Principal | undefined, action: RoleAction, name: string): boolean {
    return (principal?.roles ?? []).some((role) =>
      (this.#grants.get(role)?.[action] ?? []).some((glob) => matchesGlob(name, glob)),
    );
  }

  /** @throws AgentError `forbidden` */
  check(principal: Principal | undefined, action: RoleAction, name: string): void {
    if (this.allows(principal, action, name)) return;
    const who = principal === undefined ? 'a caller without a principal' : `"${principal.id}"`;
    throw new AgentError('forbidden', `${who} may not do ${action} with "${name}"`);
  }
}
