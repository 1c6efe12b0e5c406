import {
  type ChangeAuthor,
  type ControlOrder,
  type ControlScope,
  controlOrdered,
  type DirectiveAcknowledged,
  otherVersion,
  timeOrderedId,
} from '@agentlens/contracts';
import { isDataError, lockUntilEnd, orderFromRow, recordChanges, refusalText, type Tables } from '@agentlens/database';
import { ACK, type HandlingOutcome } from '@agentlens/messaging';
import type { Kysely, Transaction } from 'kysely';
import { changeAlert, cleanText, lockWaiting } from '../alerts/alerts.repository.ts';
import { type CommandAnswer, refusal } from '../answer.ts';
import type { AgentControl } from '../directives/agent-control.ts';
import { putInOutbox } from '../outbox/outbox.ts';
import { queueWebhooks } from '../webhooks/webhook.queue.ts';
import { noticeOfOrder } from '../webhooks/webhook-notice.ts';

interface ControlRequest {
  readonly tenantId: string;
  readonly scope: ControlScope;
  readonly scopeId: string;
  /** The agent of the run, if known. */
  readonly agentId?: string | undefined;
  readonly state: ControlOrder['state'];
  readonly reason: string;
  readonly by: string;
  readonly author?: ChangeAuthor | undefined;
  /** The order applies only if the current one is at this version; 0 if there is none. */
  readonly ifVersion?: number | undefined;
}

/**
 * Writer of `control_orders`: the orders of operators, one per run, agent or tenant, in force until the next version. A
 * killed agent or tenant also covers runs that start later.
 */
export class ControlOrdersService {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly directives: AgentControl,
    /** Called after a commit that wrote to the outbox or queued a delivery. */
    private readonly onOrdered: () => void,
  ) {}

  async order(request: ControlRequest): Promise<CommandAnswer<ControlOrder>> {
    const { tenantId, scope, scopeId, state } = request;
    if (scope === 'tenant' && scopeId !== tenantId) return refusal(404, 'Tenant not found');
    const put = await this.#put(request);
    if (!put.ok) return put;
    this.onOrdered();
    // Resuming an agent also ends a pause that a rule ordered.
    const ended = scope === 'agent' && state === 'running' ? await this.directives.endPause(tenantId, scopeId) : null;
    return ended === null || ended.ok ? put : ended;
  }

  /**
   * Reads, increments and publishes the row under one lock, so concurrent orders get distinct versions and are
   * published in order.
   */
  #put({
    tenantId,
    scope,
    scopeId,
    agentId,
    state,
    reason,
    by,
    author,
    ifVersion,
  }: ControlRequest): Promise<CommandAnswer<ControlOrder>> {
    const now = this.now();
    const issuedAt = new Date(now).toISOString();
    const order = {
      order_id: timeOrderedId(now),
      agent_id: agentId ?? null,
      state,
      reason: cleanText(reason, 1_000),
      ordered_by: cleanText(by, 300),
      issued_at: issuedAt,
    };
    return this.db.transaction().execute(async (tx): Promise<CommandAnswer<ControlOrder>> => {
      // Serialises first orders, which have no row to lock.
      await lockUntilEnd(tx, 'orders', tenantId);
      const previous = await tx
        .selectFrom('control_orders')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('scope', '=', scope)
        .where('scope_id', '=', scopeId)
        .executeTakeFirst();
      const { version: current = 0 } = previous ?? {};
      if (ifVersion !== undefined && ifVersion !== current) return otherVersion('order', ifVersion, current);
      const row = await tx
        .insertInto('control_orders')
        .values({ tenant_id: tenantId, scope, scope_id: scopeId, version: 1, ...order })
        .onConflict((conflict) =>
          conflict
            .columns(['tenant_id', 'scope', 'scope_id'])
            .doUpdateSet((eb) => ({ ...order, version: eb('control_orders.version', '+', 1) })),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      const written = orderFromRow(row);
      const before = previous && orderFromRow(previous);
      const targetId = `${scope}:${scopeId}`;
      await recordChanges(tx, [
        { tenantId, at: issuedAt, kind: 'order.given', targetId, author, reason: order.reason, before, after: written },
      ]);
      await putInOutbox(tx, controlOrdered, written, issuedAt);
      await queueWebhooks(tx, [noticeOfOrder(written)], issuedAt);
      if (state === 'killed') await cancelApprovals(tx, written);
      return { ok: true, value: written };
    });
  }
}

/** A killed call needs no decision: cancels its pending approvals. */
async function cancelApprovals(tx: Transaction<Tables>, order: ControlOrder): Promise<void> {
  for (const row of await lockWaiting(tx, order)) {
    const reason = order.reason === '' ? `The ${order.scope} was killed` : order.reason;
    const cancelled = { status: 'cancelled', dedupe: null, decided_at: order.issuedAt, decided_by: order.by } as const;
    await changeAlert(tx, row, { ...cancelled, reason }, order.issuedAt);
  }
}

/** Writer of `control_acknowledgements`: the first time that each connected agent took an order or a directive. */
export class Acknowledgements {
  constructor(private readonly db: Kysely<Tables>) {}

  async take(taken: DirectiveAcknowledged): Promise<HandlingOutcome> {
    try {
      await this.#record(taken);
      return ACK;
    } catch (error) {
      if (isDataError(error)) return { kind: 'poison', reason: `it cannot be stored: ${refusalText(error)}` };
      throw error;
    }
  }

  /** Keeps the earliest acknowledgement of an instance, for any order of arrival. */
  async #record(taken: DirectiveAcknowledged): Promise<void> {
    await this.db
      .insertInto('control_acknowledgements')
      .values({
        tenant_id: taken.tenantId,
        directive_id: taken.directiveId,
        instance_id: taken.instanceId,
        agent_id: taken.agentId,
        acknowledged_at: taken.acknowledgedAt,
        signature: taken.signature === undefined ? null : JSON.stringify(taken.signature),
      })
      .onConflict((conflict) =>
        conflict.columns(['tenant_id', 'directive_id', 'agent_id', 'instance_id']).doUpdateSet((eb) => ({
          acknowledged_at: eb.fn<string>('least', [
            'control_acknowledgements.acknowledged_at',
            'excluded.acknowledged_at',
          ]),
          signature: eb.fn.coalesce('control_acknowledgements.signature', 'excluded.signature'),
        })),
      )
      .execute();
  }
}
