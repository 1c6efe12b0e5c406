import type { ChangeAuthor } from '@agentlens/contracts';
import { recordChanges, type Tables } from '@agentlens/database';
import { type Kysely, sql } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';
import type { Destination } from '../destinations/destinations.ts';

interface RedeliverOrder {
  readonly tenantId: string;
  readonly deliveryId: string;
  readonly author?: ChangeAuthor | undefined;
}

/**
 * Repeats a delivery on request: due at once, with the same id and action, to a destination that is enabled again.
 * Retries continue the schedule; a delivery that has used it up gets one attempt. Receivers that store `webhook-id`
 * recognise the repetition.
 */
export class Redelivery {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly now: () => number,
    private readonly onQueued: (destination: Destination | null) => void,
  ) {}

  async redeliver({
    tenantId,
    deliveryId,
    author,
  }: RedeliverOrder): Promise<CommandAnswer<{ readonly deliveryId: string }>> {
    const at = new Date(this.now()).toISOString();
    const queued = await this.db.transaction().execute(async (tx) => {
      const delivery = await tx
        .updateTable('deliveries')
        .set({
          next_attempt_at: at,
          result: sql<'retrying'>`case when settled_at is null then result else 'retrying' end`,
          settled_at: null,
        })
        .where('tenant_id', '=', tenantId)
        .where('delivery_id', '=', deliveryId)
        .returning(['trigger_id', 'triggered_at', 'destination', 'webhook_id', 'result'])
        .executeTakeFirst();
      if (delivery === undefined) return undefined;
      await recordChanges(tx, [{ tenantId, at, kind: 'delivery.redelivered', targetId: deliveryId, author }]);
      // A notification says nothing about the result of the trigger's own action.
      if (delivery.webhook_id === null && delivery.result !== 'superseded') {
        await tx
          .updateTable('guardrail_triggers')
          .set({ action_result: delivery.result, settled_at: null })
          .where('tenant_id', '=', tenantId)
          .where('triggered_at', '=', delivery.triggered_at)
          .where('trigger_id', '=', delivery.trigger_id)
          .execute();
      }
      if (delivery.destination === null) return { destination: null };
      await tx
        .updateTable('destinations')
        .set({ disabled_at: null, disabled_reason: null })
        .where('tenant_id', '=', tenantId)
        .where('destination', '=', delivery.destination)
        .execute();
      return { destination: { tenantId, id: delivery.destination } };
    });
    if (queued === undefined) return refusal(404, 'Delivery not found');
    this.onQueued(queued.destination);
    return { ok: true, value: { deliveryId } };
  }
}
