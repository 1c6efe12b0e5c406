import { type Kysely, sql } from 'kysely';

/** What a tenant sets for itself beside what happens when nobody can judge. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tenants
      -- Whether runs without limits of their own have the default ones.
      add column default_breaker text not null default 'on' check (default_breaker in ('on', 'off')),
      -- Whether decisions keep the arguments of the call, with secrets taken out.
      add column decision_arguments text not null default 'redacted' check (decision_arguments in ('none', 'redacted')),
      -- Raised by one with each change.
      add column settings_version integer not null default 1;
  `.execute(db);
}
