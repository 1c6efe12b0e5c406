import type { Directive } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { AgentDirectivesTable } from '../schema/tables.ts';

/** A directive as its row says it, for its writer and its readers. */
export function directiveFromRow(row: Selectable<AgentDirectivesTable>): Directive {
  return {
    id: row.directive_id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    version: row.version,
    paused:
      row.paused_at === null
        ? null
        : { at: row.paused_at, reason: row.pause_reason ?? '', triggerId: row.pause_trigger_id ?? undefined },
    modelOverride:
      row.model_override === null
        ? null
        : {
            model: row.model_override,
            at: row.model_override_at ?? row.issued_at,
            reason: row.model_override_reason ?? '',
            triggerId: row.model_override_trigger_id ?? undefined,
          },
    issuedAt: row.issued_at,
  };
}
