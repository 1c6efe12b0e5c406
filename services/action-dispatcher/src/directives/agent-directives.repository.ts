import {
  type ChangeAuthor,
  type ChangeKind,
  type ControlOrder,
  type Directive,
  directiveIssued,
  timeOrderedId,
} from '@agentlens/contracts';
import {
  type AgentDirectivesTable,
  directiveFromRow,
  orderFromRow,
  recordChanges,
  type Tables,
} from '@agentlens/database';
import type { Kysely, Selectable } from 'kysely';
import { WRITER } from '../outbox/outbox.ts';
import { type Change, type DirectiveState, NEUTRAL } from './directive-orders.ts';

type Row = Selectable<AgentDirectivesTable>;

export interface DirectiveChange {
  readonly tenantId: string;
  readonly agentId: string;
  readonly at: number;
  readonly change: Change;
}

/** Writer of `agent_directives`: each change increments the version and is published by the same transaction. */
export class AgentDirectivesRepository {
  constructor(private readonly db: Kysely<Tables>) {}

  /**
   * Applies a change with optimistic locking: reads, then writes if the version is unchanged, otherwise retries. Two
   * round trips, because the agent continues until its pause is published.
   *
   * @returns the directive in force and whether this call changed it
   */
  async apply({ tenantId, agentId, at, change }: DirectiveChange): Promise<{ directive: Directive; changed: boolean }> {
    const issuedAt = new Date(at).toISOString();
    for (;;) {
      const row = await this.#find(tenantId, agentId);
      const current = row === undefined ? NEUTRAL : stateOf(row);
      const next = change(current, issuedAt);
      if (next === null && row !== undefined) return { directive: directiveFromRow(row), changed: false };
      const ordered = { tenant_id: tenantId, agent_id: agentId, directive_id: timeOrderedId(at), issued_at: issuedAt };
      const written = { ...ordered, version: (row?.version ?? 0) + 1, ...rowColumns(next ?? current) };
      const directive = directiveFromRow(written);
      if (await this.#replace(written, directive)) return { directive, changed: next !== null };
    }
  }

  /** Applies a change that a person ordered, with its audit row. @returns the directive in force */
  applyAudited(order: DirectiveChange, kind: ChangeKind, author?: ChangeAuthor): Promise<Directive> {
    const { tenantId, agentId: targetId } = order;
    return this.db.transaction().execute(async (tx) => {
      const directives = new AgentDirectivesRepository(tx);
      const row = await directives.#find(tenantId, targetId);
      const { directive } = await directives.apply(order);
      const before = row && directiveFromRow(row);
      const at = new Date(order.at).toISOString();
      await recordChanges(tx, [{ tenantId, at, kind, targetId, author, before, after: directive }]);
      return directive;
    });
  }

  /** True if run-tracking has seen the agent or a directive exists for it. */
  async knows(tenantId: string, agentId: string): Promise<boolean> {
    const { db } = this;
    const seen = await db
      .selectFrom('agents')
      .select('agent_id')
      .where('tenant_id', '=', tenantId)
      .where('agent_id', '=', agentId)
      .unionAll(
        db
          .selectFrom('agent_directives')
          .select('agent_id')
          .where('tenant_id', '=', tenantId)
          .where('agent_id', '=', agentId),
      )
      .executeTakeFirst();
    return seen !== undefined;
  }

  async isPaused(tenantId: string, agentId: string): Promise<boolean> {
    const row = await this.db
      .selectFrom('agent_directives')
      .select('agent_id')
      .where('tenant_id', '=', tenantId)
      .where('agent_id', '=', agentId)
      .where('paused_at', 'is not', null)
      .executeTakeFirst();
    return row !== undefined;
  }

  /** The operator's order that holds the agent; its own takes precedence over the tenant's. */
  async orderOn(tenantId: string, agentId: string): Promise<ControlOrder | undefined> {
    const row = await this.db
      .selectFrom('control_orders')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where((eb) =>
        eb.or([
          eb.and([eb('scope', '=', 'agent'), eb('scope_id', '=', agentId)]),
          eb.and([eb('scope', '=', 'tenant'), eb('scope_id', '=', tenantId)]),
        ]),
      )
      .where('state', '!=', 'running')
      .orderBy('scope')
      .executeTakeFirst();
    return row === undefined ? undefined : orderFromRow(row);
  }

  #find(tenantId: string, agentId: string): Promise<Row | undefined> {
    return this.db
      .selectFrom('agent_directives')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('agent_id', '=', agentId)
      .executeTakeFirst();
  }

  /**
   * Writes the next version and its fact in one statement. Returns false if the version has changed. The fact follows
   * the row, so that facts of an agent get ids in the order of versions.
   */
  async #replace(row: Row, directive: Directive): Promise<boolean> {
    const { tenant_id: _tenant, agent_id: _agent, ...changes } = row;
    const { facts } = await this.db
      .with('written', (db) =>
        db
          .insertInto('agent_directives')
          .values(row)
          .onConflict((conflict) =>
            conflict
              .columns(['tenant_id', 'agent_id'])
              .doUpdateSet(changes)
              .where('agent_directives.version', '=', row.version - 1),
          )
          .returning('issued_at'),
      )
      .with('published', (db) =>
        db
          .insertInto('outbox')
          .columns(['writer', 'topic', 'body', 'created_at'])
          .expression((eb) =>
            eb
              .selectFrom('written')
              .select([
                eb.cast<string>(eb.val(WRITER), 'text').as('writer'),
                eb.cast<string>(eb.val(directiveIssued.name), 'text').as('topic'),
                eb.cast<string>(eb.val(JSON.stringify(directive)), 'jsonb').as('body'),
                'written.issued_at as created_at',
              ]),
          )
          .returning('id'),
      )
      .selectFrom('published')
      .select(({ fn }) => fn.countAll<number>().as('facts'))
      .executeTakeFirstOrThrow();
    return Number(facts) > 0;
  }
}

function rowColumns(state: DirectiveState) {
  return {
    paused_at: state.paused?.at ?? null,
    pause_reason: state.paused?.reason ?? null,
    pause_trigger_id: state.pauseTriggerId,
    model_override: state.modelOverride?.model ?? null,
    model_override_at: state.modelOverride?.at ?? null,
    model_override_reason: state.modelOverride?.reason ?? null,
    model_override_trigger_id: state.modelTriggerId,
  };
}

function stateOf(row: Row): DirectiveState {
  const { paused, modelOverride } = directiveFromRow(row);
  return { paused, modelOverride, pauseTriggerId: row.pause_trigger_id, modelTriggerId: row.model_override_trigger_id };
}
