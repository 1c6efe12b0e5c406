import { ControlOrder, Directive } from '@agentlens/contracts';
import { type Database, directiveFromRow, orderFromRow } from '@agentlens/database';

/** Reads orders and directives of all tenants from the tables, which are the source of the announcements. */
export interface ControlReader {
  /** Returns all orders in force (for runs only those issued after `runsSince`) and all that changed since `since`. */
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
    return rows.map((row) => Directive.parse(directiveFromRow(row)));
  }
}
