import { type Directive, directiveIssued, timeOrderedId } from '@agentlens/contracts';
import type { AgentDirectivesTable, Tables } from '@agentlens/database';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { putInOutbox } from '../outbox/outbox.ts';
import { type Change, type DirectiveState, NEUTRAL } from './directive-orders.ts';

type Row = Selectable<AgentDirectivesTable>;

export interface DirectiveChange {
  readonly tenantId: string;
  readonly agentId: string;
  readonly at: number;
  readonly change: Change;
}

/** Writer of `agent_directives`: each change bumps the version and is published by the same transaction. */
export class AgentDirectivesRepository {
  constructor(private readonly db: Kysely<Tables>) {}

  /** Answers the directive now in force, and whether this call changed it. */
  async apply({ tenantId, agentId, at, change }: DirectiveChange): Promise<{ directive: Directive; changed: boolean }> {
    const issuedAt = new Date(at).toISOString();
    return this.db.transaction().execute(async (tx) => {
      const row = await lockedRow(tx, tenantId, agentId, issuedAt);
      const current = stateOf(row);
      const next = change(current, issuedAt);
      if (next === null && row.version > 0) return { directive: directiveOf(row), changed: false };
      const written = rowOf(row, next ?? current, timeOrderedId(at), issuedAt);
      await tx
        .updateTable('agent_directives')
        .set(written)
        .where('tenant_id', '=', tenantId)
        .where('agent_id', '=', agentId)
        .execute();
      const directive = directiveOf(written);
      await putInOutbox(tx, directiveIssued, directive, issuedAt);
      return { directive, changed: next !== null };
    });
  }

  /** True if run-tracking has seen the agent, or something was ordered of it. */
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
}

/** Version 0 exists only inside the transaction that made the row: it gives the first change something to lock. */
async function lockedRow(tx: Transaction<Tables>, tenantId: string, agentId: string, issuedAt: string): Promise<Row> {
  const blank = { ...rowColumns(NEUTRAL), directive_id: '', version: 0, issued_at: issuedAt };
  return tx
    .insertInto('agent_directives')
    .values({ tenant_id: tenantId, agent_id: agentId, ...blank })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'agent_id'])
        .doUpdateSet((eb) => ({ version: eb.ref('agent_directives.version') })),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

function rowOf(row: Row, state: DirectiveState, directiveId: string, issuedAt: string): Row {
  const { tenant_id, agent_id, version } = row;
  return {
    tenant_id,
    agent_id,
    directive_id: directiveId,
    version: version + 1,
    issued_at: issuedAt,
    ...rowColumns(state),
  };
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
  const { paused, modelOverride } = directiveOf(row);
  return { paused, modelOverride, pauseTriggerId: row.pause_trigger_id, modelTriggerId: row.model_override_trigger_id };
}

function directiveOf(row: Row): Directive {
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
