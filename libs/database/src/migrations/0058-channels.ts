import { type Kysely, sql } from 'kysely';
import { DISPATCHER, openTable } from './open-table.ts';

const TABLES = [
  ...['channels', 'routing_documents', 'silences', 'chat_links'],
  ...['notice_groups', 'notice_members', 'notices', 'notice_alerts', 'approval_steps'],
];

/**
 * Channels, and what was sent to them. A group is what one channel shows of the alerts of one route: everything that the
 * next notice depends on is here, so that any dispatcher can continue after another one has died.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table channels (
      tenant_id text not null,
      channel_id text not null,
      kind text not null,
      name text,
      -- Secrets in it are sealed.
      config jsonb not null,
      target text not null,
      fallback text,
      enabled boolean not null,
      version int not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (tenant_id, channel_id)
    );

    create table routing_documents (
      tenant_id text not null,
      version int not null,
      body jsonb not null,
      saved_by text,
      saved_at timestamptz not null,
      primary key (tenant_id, version)
    );

    create table silences (
      tenant_id text not null,
      silence_id text not null,
      matchers jsonb not null,
      starts_at timestamptz not null,
      ends_at timestamptz not null,
      comment text not null,
      created_by text not null,
      created_at timestamptz not null,
      primary key (tenant_id, silence_id)
    );
    create index silences_by_end on silences (tenant_id, ends_at);

    create table notice_groups (
      tenant_id text not null,
      group_id text not null,
      route_id text not null,
      channel_id text not null,
      labels jsonb not null,
      not_before timestamptz not null,
      due_at timestamptz not null,
      last_sent_at timestamptz,
      interval_ms bigint not null,
      shown text[] not null default '{}',
      primary key (tenant_id, group_id)
    );
    create index notice_groups_due on notice_groups (due_at);

    -- Alerts of a group that fire.
    create table notice_members (
      tenant_id text not null,
      group_id text not null,
      alert_id text not null,
      primary key (tenant_id, group_id, alert_id)
    );
    create index notice_members_by_alert on notice_members (tenant_id, alert_id);

    create table notices (
      tenant_id text not null,
      notice_id text not null,
      channel_id text not null,
      route_id text not null,
      group_id text,
      reason text not null,
      at timestamptz not null,
      delivery_id text not null,
      -- The notice was also given to the fallback of the channel, or needs none.
      fell_back boolean not null default false,
      primary key (tenant_id, notice_id)
    );
    create unique index notices_by_delivery on notices (tenant_id, delivery_id);
    create index notices_to_fall_back on notices (at) where not fell_back;

    create table notice_alerts (
      tenant_id text not null,
      alert_id text not null,
      notice_id text not null,
      state text not null check (state in ('firing', 'resolved')),
      primary key (tenant_id, alert_id, notice_id)
    );

    create table approval_steps (
      tenant_id text not null,
      alert_id text not null,
      step int not null,
      route_id text not null,
      channels text[] not null,
      due_at timestamptz not null,
      primary key (tenant_id, alert_id, step)
    );
    create index approval_steps_due on approval_steps (due_at);

    -- Accounts of a chat that people have linked. A key can be linked instead of a person.
    create table chat_links (
      tenant_id text not null,
      workspace text not null,
      chat_user text not null,
      person_id text,
      key_id text not null,
      name text not null,
      linked_at timestamptz not null,
      primary key (tenant_id, workspace, chat_user)
    );

    -- Deliveries with one key are sent one after the other, in this order.
    create sequence delivery_order as bigint;
    alter table deliveries add column channel_id text, add column order_key text, add column order_n bigint,
      add column receipt text;
    create index deliveries_in_order on deliveries (tenant_id, order_key, order_n) where order_key is not null;
    create index deliveries_by_channel on deliveries (tenant_id, channel_id, created_at) where channel_id is not null;

    alter table alerts add column labels jsonb;

    grant usage on sequence delivery_order to agentlens_action_dispatcher;
    -- A key that was linked to a chat account votes while it may review.
    grant select (tenant_id, key_id, name, scopes, revoked_at, expires_at) on api_keys to agentlens_action_dispatcher;
    create policy api_keys_of_chats on api_keys for select to agentlens_action_dispatcher using (true);
  `.execute(db);
  for (const table of TABLES) {
    await sql
      .raw(`alter table ${table} enable row level security; alter table ${table} force row level security`)
      .execute(db);
    await openTable(db, table, { writers: [DISPATCHER], readers: [] });
  }
}
