import type { DatabaseRole } from './database.ts';

export const DATABASE_ROLES: readonly DatabaseRole[] = [
  'ingest',
  'run-tracking',
  'guardrail-evaluator',
  'action-dispatcher',
  'query',
];

/** Sees one tenant at a time, the one named by `agentlens.tenant`; writes nothing. */
export const READER_ROLE = 'agentlens_reader';

/** The Postgres role of a service. Roles belong to the whole server, so the name carries the product. */
export function roleName(role: DatabaseRole): string {
  return `agentlens_${role.replaceAll('-', '_')}`;
}
