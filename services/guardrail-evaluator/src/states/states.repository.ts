import type { Database } from '@agentlens/database';

/** The value that a rule last measured for an agent. */
export interface RuleStateRow {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly agentId: string;
  readonly lastEvaluatedAt: string;
  readonly currentValue: number | null;
  readonly degradedReason: string | null;
}

/**
 * The table `guardrail_states`. The newest evaluation wins; for equal times, the greater value. Writers may therefore
 * write in any order and more than once.
 */
export class StatesRepository {
  readonly #pool: Database['pool'];

  constructor({ pool }: Pick<Database, 'pool'>) {
    this.#pool = pool;
  }

  /** @param states at most one state per tenant, rule and agent */
  async save(states: readonly RuleStateRow[]): Promise<void> {
    await this.#pool.query({
      name: 'save-guardrail-states',
      text: `
        insert into guardrail_states as kept
          (tenant_id, rule_id, agent_id, last_evaluated_at, current_value, degraded_reason)
        select "tenantId", "ruleId", "agentId", "lastEvaluatedAt", "currentValue", "degradedReason"
        from jsonb_to_recordset($1::jsonb) as state ("tenantId" text, "ruleId" text, "agentId" text,
          "lastEvaluatedAt" timestamptz, "currentValue" double precision, "degradedReason" text)
        order by 1, 2, 3
        on conflict (tenant_id, rule_id, agent_id) do update set
          last_evaluated_at = excluded.last_evaluated_at,
          current_value = excluded.current_value,
          degraded_reason = excluded.degraded_reason
        where (excluded.last_evaluated_at, coalesce(excluded.current_value, '-infinity'))
          > (kept.last_evaluated_at, coalesce(kept.current_value, '-infinity'))`,
      values: [JSON.stringify(states)],
    });
  }
}
