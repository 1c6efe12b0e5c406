import { type Kysely, sql } from 'kysely';

/** Which runs a standing order for an agent or a tenant kills is asked every second. Nothing in it changes while they run. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index runs_running on runs (tenant_id, agent_id) where status = 'running'`.execute(db);
}
