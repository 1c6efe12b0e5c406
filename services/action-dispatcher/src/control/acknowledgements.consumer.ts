import { type DirectiveAcknowledged, directiveAcknowledged, GROUPS } from '@agentlens/contracts';
import { isDataError, refusalText, type Tables } from '@agentlens/database';
import { ACK, type EventBus, each, type HandlingOutcome, type Received, type Subscription } from '@agentlens/messaging';
import type { Kysely } from 'kysely';

export const ACKNOWLEDGEMENTS_GROUP = GROUPS.acknowledgements;
const MAX_BATCH = 64;
const CONCURRENCY = 4;

/** Writer of `control_acknowledgements`: which connected agent took an order or a directive first when. */
export class AcknowledgementsConsumer {
  #subscription: Subscription | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly db: Kysely<Tables>,
  ) {}

  async start(): Promise<void> {
    const handler = each((message: Received<DirectiveAcknowledged>) => this.#take(message.value), CONCURRENCY);
    const group = { group: ACKNOWLEDGEMENTS_GROUP, maxBatch: MAX_BATCH };
    this.#subscription = await this.bus.consume(directiveAcknowledged, group, handler);
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  async #take(taken: DirectiveAcknowledged): Promise<HandlingOutcome> {
    try {
      await this.#record(taken);
      return ACK;
    } catch (error) {
      if (isDataError(error)) return { kind: 'poison', reason: `it cannot be stored: ${refusalText(error)}` };
      throw error;
    }
  }

  /** In whatever order they come, the earliest of an instance stays. */
  async #record(taken: DirectiveAcknowledged): Promise<void> {
    await this.db
      .insertInto('control_acknowledgements')
      .values({
        tenant_id: taken.tenantId,
        directive_id: taken.directiveId,
        instance_id: taken.instanceId,
        agent_id: taken.agentId,
        acknowledged_at: taken.acknowledgedAt,
      })
      .onConflict((conflict) =>
        conflict.columns(['tenant_id', 'directive_id', 'agent_id', 'instance_id']).doUpdateSet((eb) => ({
          acknowledged_at: eb.fn<string>('least', [
            'control_acknowledgements.acknowledged_at',
            'excluded.acknowledged_at',
          ]),
        })),
      )
      .execute();
  }
}
