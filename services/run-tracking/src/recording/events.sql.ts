/** Rows are inserted in the order of their key, so that two writers of the same events wait for each other but never in a circle. */
const COLUMNS = `tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type, severity,
    is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens, cost_usd, cost_source,
    latency_ms, tags, payload, metadata, hash, received_at`;

/**
 * Inserts events from `rows`, an array of `event_row`. Fails with a unique violation where one of them is there already,
 * or twice in the array.
 */
export const insertNewEvents = (rows: string): string => `
  insert into events (${COLUMNS})
  select tenant_id, occurred_at::timestamptz as occurred_at, event_id, run_id, agent_id, session_id, kind, dialect,
    source_type, severity, is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens,
    cost_usd::numeric(24,12), cost_source, latency_ms, coalesce(tags, '{}'), payload, metadata, hash,
    received_at::timestamptz
  from unnest(${rows}::event_row[])
  order by occurred_at, event_id collate "C", tenant_id
  returning 1`;

/**
 * Inserts what is missing of a chunk of events, `$1`, a JSON array of batches (`EventBatch`) as they came from the bus,
 * and answers the keys of those that were. Events of deleted runs are left out.
 */
export const INSERT_MISSING_EVENTS = `
  insert into events (${COLUMNS})
  select b."tenantId", e."occurredAt", e.id, e."runId", e."agentId", e."sessionId", e.kind, e.dialect, e."sourceType",
    e.severity, e."isError", e."toolName", e."callId", e.model, e.provider,
    (e.usage->>'inputTokens')::numeric::bigint, (e.usage->>'outputTokens')::numeric::bigint,
    (e.usage->>'totalTokens')::numeric::bigint, (e.usage->>'costUsd')::numeric(24,12), e.usage->>'costSource',
    (e.usage->>'latencyMs')::double precision, coalesce(e.tags, '{}'), e.payload, e.metadata, e.hash, b."receivedAt"
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, "receivedAt" timestamptz, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e(
    id text, "agentId" text, "runId" text, "sessionId" text, kind text, dialect text, "sourceType" text, severity text,
    "isError" boolean, "occurredAt" timestamptz, hash text, "toolName" text, "callId" text, model text, provider text,
    usage jsonb, tags text[], payload jsonb, metadata jsonb)
  where not exists (
    select from deleted_runs as gone where gone.tenant_id = b."tenantId" and gone.run_id = e."runId")
  order by e."occurredAt", e.id collate "C", b."tenantId"
  on conflict (tenant_id, occurred_at, event_id) do nothing
  returning tenant_id as "tenantId", occurred_at as "occurredAt", event_id as id`;

/** How many events of the chunk `$1` belong to deleted runs. */
export const COUNT_DELETED = `
  select count(*)::int as deleted
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e("runId" text)
  join deleted_runs as gone on gone.tenant_id = b."tenantId" and gone.run_id = e."runId"`;
