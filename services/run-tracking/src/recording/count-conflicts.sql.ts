/**
 * How many events of a chunk are stored with other contents under the same id and time in the same run: the first one
 * stays, and somebody should know. The run is named so that either index of events finds the row, also in a new
 * partition that has no statistics yet.
 *
 * `$1` is the chunk, a JSON array of batches.
 */
export const COUNT_CONFLICTS = `
with known as materialized (
  select b."tenantId" as tenant_id, e."occurredAt" as occurred_at, e.id as event_id, e."runId" as run_id, e.hash
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e("occurredAt" timestamptz, id text, "runId" text, hash text)
)
select count(*)::int as conflicts from known k where (
  select e.hash from events e
  where e.tenant_id = k.tenant_id and e.occurred_at = k.occurred_at and e.event_id = k.event_id
    and e.run_id = k.run_id) <> k.hash`;
