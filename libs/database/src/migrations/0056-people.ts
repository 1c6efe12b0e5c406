import { type Kysely, sql } from 'kysely';
import { DISPATCHER, INGEST, MODEL_GATEWAY, openTable, QUERY } from './open-table.ts';

/**
 * People who sign in with a provider, their roles and teams, and approvals that people vote on. A session and a
 * personal key are keys that belong to a person.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table identity_providers (
      tenant_id text not null,
      provider_id text not null,
      settings jsonb not null,
      secret text,
      version int not null,
      created_at timestamptz not null,
      primary key (tenant_id, provider_id)
    );
    create unique index identity_providers_id on identity_providers (provider_id);

    create table people (
      tenant_id text not null,
      person_id text not null,
      name text not null,
      email text,
      email_verified boolean not null default false,
      state text not null default 'active' check (state in ('active', 'disabled')),
      claims_until timestamptz,
      last_seen_at timestamptz,
      created_at timestamptz not null,
      version int not null default 1,
      primary key (tenant_id, person_id)
    );

    create table person_identities (
      tenant_id text not null,
      provider_id text not null,
      issuer text not null,
      subject text not null,
      person_id text not null,
      primary key (tenant_id, provider_id, issuer, subject)
    );
    create index person_identities_person on person_identities (tenant_id, person_id);

    create table person_grants (
      tenant_id text not null,
      person_id text not null,
      role text not null,
      team_id text not null default '',
      source text not null check (source in ('provider', 'manual')),
      primary key (tenant_id, person_id, role, team_id, source)
    );

    create table teams (
      tenant_id text not null,
      team_id text not null,
      name text not null,
      agents text[] not null default '{}',
      created_at timestamptz not null,
      version int not null default 1,
      primary key (tenant_id, team_id)
    );

    create table team_members (
      tenant_id text not null,
      team_id text not null,
      person_id text not null,
      source text not null check (source in ('provider', 'manual')),
      primary key (tenant_id, team_id, person_id, source)
    );
    create index team_members_person on team_members (tenant_id, person_id);

    create table logout_tokens (
      tenant_id text not null,
      provider_id text not null,
      jti text not null,
      received_at timestamptz not null,
      primary key (tenant_id, provider_id, jti)
    );

    alter table api_keys add column person_id text, add column via text, add column signed_in_at timestamptz,
      add column idle_seconds int, add column provider_id text, add column sid text,
      add column break_glass boolean not null default false;
    create index api_keys_person on api_keys (tenant_id, person_id) where person_id is not null;

    alter table audit_entries add column person_id text, add column via text, add column session_id text;

    create table approval_policies (
      tenant_id text not null,
      policy_id text not null,
      place int not null,
      body jsonb not null,
      version int not null,
      saved_by text,
      saved_at timestamptz not null,
      primary key (tenant_id, policy_id)
    );

    create table approval_votes (
      tenant_id text not null,
      alert_id text not null,
      voter text not null,
      name text not null,
      is_person boolean not null,
      verdict text not null check (verdict in ('approve', 'deny')),
      at timestamptz not null,
      via text not null,
      session_id text,
      reason text,
      primary key (tenant_id, alert_id, voter)
    );

    -- Who changed a rule lately may not approve under it.
    grant select (tenant_id, kind, target, target_id, person_id, at) on audit_entries to agentlens_action_dispatcher;
    create policy audit_entries_rule_authors on audit_entries for select to agentlens_action_dispatcher
      using (target = 'rule');

    alter table alerts add column policy jsonb, add column requesters jsonb;
  `.execute(db);
  const tables = {
    identity_providers: { writers: [QUERY], readers: [] },
    people: { writers: [QUERY], readers: [INGEST, DISPATCHER, MODEL_GATEWAY] },
    person_identities: { writers: [QUERY], readers: [DISPATCHER] },
    person_grants: { writers: [QUERY], readers: [INGEST, DISPATCHER, MODEL_GATEWAY] },
    teams: { writers: [QUERY], readers: [INGEST, DISPATCHER, MODEL_GATEWAY] },
    team_members: { writers: [QUERY], readers: [INGEST, DISPATCHER, MODEL_GATEWAY] },
    logout_tokens: { writers: [QUERY], readers: [] },
    approval_policies: { writers: [DISPATCHER], readers: [] },
    approval_votes: { writers: [DISPATCHER], readers: [] },
  };
  for (const [table, access] of Object.entries(tables)) {
    await sql
      .raw(`alter table ${table} enable row level security; alter table ${table} force row level security`)
      .execute(db);
    await openTable(db, table, access);
  }
}
