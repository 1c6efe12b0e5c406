import { type Kysely, sql } from 'kysely';

/** Breakers count the usage of run trees too. Limits of trees have the tenant as their scope id. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table circuit_breakers drop constraint circuit_breakers_scope_check;
    alter table circuit_breakers add constraint circuit_breakers_scope_check check (scope in ('run', 'agent', 'tree'));
    alter table breaker_limits drop constraint breaker_limits_scope_check;
    alter table breaker_limits add constraint breaker_limits_scope_check check (scope in ('tenant', 'agent', 'run', 'tree'));
  `.execute(db);
}
