import { type Kysely, sql } from 'kysely';

/** An approval is good for one call: which question used it, whether that came again, and that the call has ended. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table alerts
      -- The \`Idempotency-Key\` of the question that used it.
      add column used_by text,
      -- When a question without a key came again.
      add column retried_at timestamptz,
      -- When the result of the call was reported.
      add column spent_at timestamptz;

    create index alerts_unspent on alerts (tenant_id, run_id)
      where kind = 'approval' and used_at is not null and spent_at is null;
  `.execute(db);
}
