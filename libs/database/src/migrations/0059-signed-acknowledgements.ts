import { type Kysely, sql } from 'kysely';

/** Acknowledgements keep the checked signature of the connection that sent them, and the log gets it with the entry. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    alter table control_acknowledgements add column signature jsonb;
    create or replace function log_acknowledgement() returns trigger language plpgsql as $$
    begin
      insert into log_pending (tenant_id, kind, entry_id, at, payload)
      values (new.tenant_id, 'ack', gen_random_uuid()::text, now(), jsonb_strip_nulls(jsonb_build_object(
        'directiveId', new.directive_id, 'instanceId', new.instance_id, 'agentId', new.agent_id,
        'acknowledgedAt', new.acknowledged_at, 'signature', new.signature)));
      return null;
    end $$;
    -- An instance whose first acknowledgement was not signed, or was lost, may prove it later.
    create trigger control_acknowledgements_signed_log after update on control_acknowledgements
      for each row when (old.signature is null and new.signature is not null) execute function log_acknowledgement();
    create index log_payloads_of_orders on log_payloads
      (tenant_id, coalesce(body::jsonb->'control'->>'orderId', body::jsonb->'ack'->>'directiveId'))
      where kind in ('control', 'ack');
  `)
    .execute(db);
}
