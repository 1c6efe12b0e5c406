import { COMMANDS, type RearmedRule } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import { CommandUnanswered, type EventBus } from '@agentlens/messaging';
import { type Kysely, sql, type Transaction } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';

const NOT_REARMED = refusal(
  503,
  'The rules that paused the agent could not be rearmed, so it stays paused',
  'The guardrail evaluator or its state store is unavailable, so no rule would guard the agent. Send the same request again.',
);

/**
 * Ends the cooldowns of the rules that paused an agent, so that a resumed agent is guarded from its first event.
 * Changes `trigger_cooldowns` and the state of the evaluator, both or neither.
 */
export class PauseRearmService {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly bus: Pick<EventBus, 'request'>,
  ) {}

  /**
   * Calls the evaluator while the cooldowns are locked, so that triggers it lets through afterwards are recorded
   * afterwards.
   *
   * @returns the rules that were cooling down
   */
  async rearm(tenantId: string, agentId: string, atMs: number): Promise<CommandAnswer<RearmedRule[]>> {
    const at = new Date(atMs).toISOString();
    try {
      return await this.db.transaction().execute(async (tx) => {
        const rules = await endCooldowns(tx, tenantId, agentId, at);
        const ruleIds = rules.map(({ ruleId }) => ruleId);
        if (rules.length > 0) await this.#tellEvaluator({ tenantId, agentId, ruleIds, at });
        return { ok: true, value: rules } as const;
      });
    } catch (error) {
      if (error instanceof NotRearmed || error instanceof CommandUnanswered) return NOT_REARMED;
      throw error;
    }
  }

  async #tellEvaluator(order: Parameters<typeof this.bus.request>[1]): Promise<void> {
    const answer = await this.bus.request(COMMANDS.rearmRules, order);
    if (!answer.ok) throw new NotRearmed(answer.problem.error);
  }
}

/** Rolls back the transaction. */
class NotRearmed extends Error {}

/** Locks rows in the same order as the trigger recorder. */
async function endCooldowns(
  tx: Transaction<Tables>,
  tenantId: string,
  agentId: string,
  at: string,
): Promise<RearmedRule[]> {
  const { rows } = await sql<RearmedRule>`
    with pausing as materialized (
      select c.rule_id, r.name, c.cooling_until > ${at}::timestamptz as cooling
      from trigger_cooldowns c join guardrail_rules r using (tenant_id, rule_id)
      where c.tenant_id = ${tenantId} and c.agent_id = ${agentId} and not c.dry_run and r.action_type = 'pause_agent'
      order by c.rule_id
      for update of c
    ), rearmed as (
      update trigger_cooldowns c
      set rearmed_at = greatest(c.rearmed_at, ${at}::timestamptz),
        cooling_until = least(c.cooling_until, ${at}::timestamptz)
      from pausing p
      where c.tenant_id = ${tenantId} and c.agent_id = ${agentId} and not c.dry_run and c.rule_id = p.rule_id
    )
    select rule_id as "ruleId", name as "ruleName" from pausing where cooling order by rule_id
  `.execute(tx);
  return rows;
}
