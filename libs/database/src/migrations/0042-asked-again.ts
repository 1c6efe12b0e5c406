import { type Kysely, sql } from 'kysely';

/**
 * Marks decisions of a call that waits for approval and is asked again: the first one stands for all. The index finds
 * the decisions of an approval.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table decisions add column asked_again boolean not null default false;
    create index decisions_waiting on decisions (tenant_id, approval_id) where cause->>'kind' = 'HITL_PENDING';

    -- The owner of the tables may be an ordinary login, which row level security would show no decision.
    set local role agentlens_run_tracking;
    update decisions set asked_again = true from (
      select tenant_id, decision_id,
        row_number() over (partition by tenant_id, approval_id order by decided_at, decision_id) as nth
      from decisions where cause->>'kind' = 'HITL_PENDING' and approval_id is not null
    ) as waiting
    where decisions.tenant_id = waiting.tenant_id and decisions.decision_id = waiting.decision_id and waiting.nth > 1;
    reset role;
  `.execute(db);
}
