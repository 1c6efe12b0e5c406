import { ControlOrder, Directive } from '@agentlens/contracts';
import { type AgentDirectivesTable, type Database, orderFromRow } from '@agentlens/database';
import type { Selectable } from 'kysely';

/** Reads what stands, of all tenants: the record behind the announcements. */
export interface ControlReader {
  /** Everything in force, of runs only what was ordered after `runsSince`; and everything that changed since `since`. */
  orders(since: string, runsSince: string): Promise<readonly ControlOrder[]>;
  directives(since: string): Promise<readonly Directive[]>;
}

export class ControlTables implements ControlReader {
  constructor(private readonly database: Database) {}

  async orders(since: string, runsSince: string): Promise<readonly ControlOrder[]> {
    const rows = await this.database.db
      .selectFrom('control_orders')
      .selectAll()
      .where((eb) => eb.or([eb('state', '<>', 'running'), eb('issued_at', '>=', since)]))
      .where((eb) => eb.or([eb('scope', '<>', 'run'), eb('issued_at', '>', runsSince)]))
      .execute();
    return rows.map((row) => ControlOrder.parse(orderFromRow(row)));
  }

  async directives(since: string): Promise<readonly Directive[]> {
    const rows = await this.database.db
      .selectFrom('agent_directives')
      .selectAll()
      .where((eb) =>
        eb.or([eb('paused_at', 'is not', null), eb('model_override', 'is not', null), eb('issued_at', '>=', since)]),
      )
      .execute();
    return rows.map(directiveOf);
  }
}

function directiveOf(row: Selectable<AgentDirectivesTable>): Directive {
  const { paused_at, model_override, issued_at } = row;
  return Directive.parse({
    id: row.directive_id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    version: row.version,
    paused:
      paused_at === null
        ? null
        : { at: paused_at, reason: row.pause_reason ?? '', triggerId: row.pause_trigger_id ?? undefined },
    modelOverride:
      model_override === null
        ? null
        : {
            model: model_override,
            at: row.model_override_at ?? issued_at,
            reason: row.model_override_reason ?? '',
            triggerId: row.model_override_trigger_id ?? undefined,
          },
    issuedAt: issued_at,
  });
}
