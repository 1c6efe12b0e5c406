import type { Pool } from 'pg';

/** A fifth of the events belongs to runs of 1,000, the rest to runs of 100, spread over thirty days. */
export const LARGE_RUN = 1_000;
const SMALL_RUN = 100;
const LARGE_SHARE = 0.2;
const DAYS = 30;
const MAX_TRIGGERS = 1_000_000;
const ROWS_PER_STATEMENT = 250_000;
const AGENTS = 100;
/** One per core of the usual machine. */
const WRITERS = 2;

export interface Seeded {
  readonly largeRuns: number;
  readonly runs: number;
  readonly events: number;
  readonly triggers: number;
}

/** Writes the rows of `rows` events of tenant `default` directly into the tables. */
export async function seedHistory(
  pool: Pool,
  ruleId: string,
  rows: number,
  progress: (text: string) => void,
): Promise<Seeded> {
  const largeRuns = Math.max(1, Math.round((rows * LARGE_SHARE) / LARGE_RUN));
  const smallRuns = Math.max(1, Math.round((rows * (1 - LARGE_SHARE)) / SMALL_RUN));
  const triggers = Math.min(rows, MAX_TRIGGERS);
  await partitions(pool, 'events', DAYS + 1);
  await partitions(pool, 'guardrail_triggers', DAYS + 1);
  await seedRuns(pool, 'large', largeRuns, LARGE_RUN, progress);
  await seedRuns(pool, 'small', smallRuns, SMALL_RUN, progress);
  progress(`seeding ${triggers} triggers`);
  await pool.query(
    `insert into guardrail_triggers (tenant_id, triggered_at, trigger_id, rule_id, rule_version, rule_name, agent_id,
       run_id, event_id, condition_type, condition_value, condition_threshold, action_type, message, dry_run,
       action_result, settled_at)
     select 'default', at, 'trigger-' || i, $2, 1, 'seeded', 'agent-' || i % ${AGENTS}, 'large-1', 'event-' || i,
       'custom_metric', i, 0, 'notify_webhook', 'seeded', false, 'success', at
     from (select i, now() - i * interval '${DAYS} days' / $1 as at from generate_series(1, $1::int) i) as times`,
    [triggers, ruleId],
  );
  progress('analysing and writing to disk');
  await pool.query('vacuum analyze events');
  await pool.query('vacuum analyze runs');
  await pool.query('vacuum analyze guardrail_triggers');
  // Otherwise it would run during the first queries.
  await pool.query('checkpoint');
  return {
    largeRuns,
    runs: largeRuns + smallRuns,
    events: largeRuns * LARGE_RUN + smallRuns * SMALL_RUN,
    triggers,
  };
}

async function seedRuns(
  pool: Pool,
  kind: 'large' | 'small',
  count: number,
  events: number,
  progress: (text: string) => void,
): Promise<void> {
  const step = Math.max(1, Math.floor(ROWS_PER_STATEMENT / events));
  // One instant for all statements, in whole milliseconds as everywhere: a run lasts from its first event to its last.
  const seededAt = new Date(Date.now() - 3_600_000).toISOString();
  let next = 1;
  const seedStep = async (first: number, last: number) => {
    progress(`seeding events of ${kind} runs: ${last} of ${count}`);
    const times = `select r, '${kind}-' || r as run_id, 'agent-' || r % ${AGENTS} as agent_id,
        date_trunc('milliseconds', '${seededAt}'::timestamptz - r * interval '${DAYS - 1} days' / ${count}) as started_at
      from generate_series($1::int, $2::int) r`;
    // The contents of the n-th event are made once for all runs, because the test measures reading, not seeding.
    await pool.query(
      `with steps as materialized (
         select i, i * interval '1 second' as after, 'call-' || i as call_id, md5(i::text) as hash,
           jsonb_build_object('callId', 'call-' || i, 'toolName', 'search_documents', 'durationMs', 41,
             'result', jsonb_build_object('hits', 12, 'cursor', md5(i::text), 'source', 'knowledge-base')) as payload,
           '{"region": "eu-west-1", "release": "2026.11.3"}'::jsonb as metadata
         from generate_series(0, ${events - 1}) i
       )
       insert into events (tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type,
         severity, is_error, tool_name, call_id, payload, metadata, hash, received_at)
       select 'default', started_at + after, run_id || '-' || i, run_id, agent_id, run_id,
         'tool.completed', 'agentlens', 'tool_response', 'info', false, 'search_documents', call_id, payload, metadata,
         hash || hash, started_at + after
       from (${times} order by r desc) as runs cross join steps`,
      [first, last],
    );
    await pool.query(
      `insert into runs (tenant_id, run_id, agent_id, session_id, status, started_at, last_event_at, ended_at,
         event_count, updated_at)
       select 'default', run_id, agent_id, run_id, 'succeeded', started_at, started_at + ${events - 1} * interval '1 second',
         started_at + ${events - 1} * interval '1 second', ${events}, now()
       from (${times}) as runs`,
      [first, last],
    );
  };
  const worker = async () => {
    while (next <= count) {
      const first = next;
      next += step;
      await seedStep(first, Math.min(count, first + step - 1));
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, worker));
}

async function partitions(pool: Pool, table: string, days: number): Promise<void> {
  await pool.query(
    `select ensure_partition('${table}', day, day + interval '1 day')
     from (select date_trunc('day', now(), 'UTC') - d * interval '1 day' as day from generate_series(0, $1::int) d) as days`,
    [days],
  );
}

/** Calls per run, agents and days are those of a busy month. */
const CALLS_PER_RUN = 50;

/** Writes `rows` model calls without a cost, and the totals of their runs, agents and days. @returns their number */
export async function seedModelCalls(pool: Pool, rows: number, progress: (text: string) => void): Promise<number> {
  const runs = Math.max(1, Math.round(rows / CALLS_PER_RUN));
  await partitions(pool, 'events', DAYS + 1);
  const seededAt = new Date(Date.now() - 2 * 3_600_000).toISOString();
  const step = Math.max(1, Math.floor(ROWS_PER_STATEMENT / CALLS_PER_RUN));
  for (let first = 1; first <= runs; first += step) {
    const last = Math.min(runs, first + step - 1);
    progress(`seeding model calls of ${last} of ${runs} runs`);
    await pool.query(
      `insert into events (tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type,
         severity, is_error, model, provider, input_tokens, output_tokens, total_tokens, cost_source, pricing, payload,
         metadata, hash, received_at)
       select 'default', at, run_id || '-' || i, run_id, 'priced-' || r % ${AGENTS}, run_id, 'llm.completed', 'agentlens',
         'llm_response', 'info', false, 'gpt-4o', 'openai', 1000 + i, 100 + i, 1100 + 2 * i, 'unpriced',
         '{"unpricedReason": "unknown_model"}', '{}', '{}', md5(run_id || i) || md5(run_id), at
       from (
         select r, i, 'priced-' || r as run_id, date_trunc('milliseconds', '${seededAt}'::timestamptz
           - r * interval '${DAYS - 1} days' / ${runs}) + i * interval '1 second' as at
         from generate_series($1::int, $2::int) r cross join generate_series(0, ${CALLS_PER_RUN - 1}) i
       ) as calls order by at`,
      [first, last],
    );
  }
  progress('adding up runs, agents and days');
  const sums = `count(*) as event_count, 0 as error_count, 0 as tool_call_count, count(*) as llm_call_count,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens`;
  const seeded = `from events where run_id like 'priced-%'`;
  await pool.query(
    `insert into runs (tenant_id, run_id, agent_id, session_id, status, started_at, last_event_at, ended_at, event_count,
       llm_call_count, input_tokens, output_tokens, unpriced_count, updated_at)
     select 'default', run_id, min(agent_id), run_id, 'succeeded', min(occurred_at), max(occurred_at), max(occurred_at),
       count(*), count(*), sum(input_tokens), sum(output_tokens), count(*), now() ${seeded} group by run_id`,
  );
  await pool.query(
    `insert into agents (tenant_id, agent_id, first_seen_at, last_seen_at)
     select 'default', agent_id, min(occurred_at), max(occurred_at) ${seeded} group by agent_id`,
  );
  await pool.query(
    `insert into agent_daily (tenant_id, agent_id, day, event_count, error_count, tool_call_count, llm_call_count,
       input_tokens, output_tokens)
     select 'default', agent_id, (occurred_at at time zone 'UTC')::date, ${sums} ${seeded} group by 2, 3`,
  );
  await pool.query(
    `insert into activity (tenant_id, grain, bucket, agent_id, event_count, error_count, tool_call_count, llm_call_count,
       input_tokens, output_tokens)
     select 'default', grain, date_trunc(grain, occurred_at, 'UTC'), agent_id, ${sums}
     from events cross join (values ('minute'), ('hour')) as grains(grain)
     where run_id like 'priced-%' group by 2, 3, 4`,
  );
  progress('analysing and writing to disk');
  for (const table of ['events', 'runs', 'agent_daily', 'activity']) await pool.query(`vacuum analyze ${table}`);
  await pool.query('checkpoint');
  return runs * CALLS_PER_RUN;
}
