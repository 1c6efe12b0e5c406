import { type Kysely, sql } from 'kysely';

/** Whether gateways decide calls of the tenant themselves, or ask the evaluator about each. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tenants
      add column decision_path text not null default 'gateway' check (decision_path in ('gateway', 'evaluator'))
  `.execute(db);
}
