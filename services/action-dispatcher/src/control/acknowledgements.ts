import type { DirectiveAcknowledged } from '@agentlens/contracts';
import { isDataError, refusalText, type Tables } from '@agentlens/database';
import { ACK, type HandlingOutcome } from '@agentlens/messaging';
import type { Kysely } from 'kysely';

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
