import { type Kysely, sql } from 'kysely';
import { EVALUATOR } from './open-table.ts';

/** The evaluator counts equal calls of a run once when it judges a rollout. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`grant select (tool_name, inputs_digest, asked_again) on decisions to ${EVALUATOR}`).execute(db);
}
