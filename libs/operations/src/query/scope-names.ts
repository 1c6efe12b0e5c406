import { type Scope, TENANT_SCOPES } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** Scope names of AgentLens keys, as ours. */
const ALIASES: Readonly<Record<string, readonly Scope[]>> = {
  '*': ['admin'],
  manage: ['admin'],
  write: ['ingest', 'decide'],
  audit: ['read'],
};

const NAMES = [...TENANT_SCOPES, ...Object.keys(ALIASES)];

/** Scopes of a new key: ours, or the AgentLens names `*`, `manage` (admin), `write` (ingest, decide) and `audit` (read). */
export const ScopeNames = z
  .array(z.enum(NAMES, `must be one of ${NAMES.join(', ')}`))
  .min(1, 'must name at least one scope')
  .max(NAMES.length)
  .transform((names): Scope[] => TENANT_SCOPES.filter((scope) => names.some((name) => meanings(name).includes(scope))))
  .meta({
    description: `Any of ${TENANT_SCOPES.join(', ')}; also * and manage (admin), write (ingest, decide), audit (read).`,
  });

function meanings(name: string): readonly string[] {
  return ALIASES[name] ?? [name];
}
