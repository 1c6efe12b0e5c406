import type { AlertMoment, LightTimelineEntry, TimelineEntry } from '@agentlens/operations';
import { type RawBuilder, sql } from 'kysely';
import type { ReadOnly } from '../http/tenant-reads.ts';
import { ASKED_TIMES } from './decision-view.ts';

/** Position and source of a timeline entry. `place` orders entries of the same instant. */
export interface TimelineKey {
  readonly at: string;
  readonly place: string;
  readonly type: TimelineEntry['type'];
  readonly id: string;
  readonly moment: AlertMoment | null;
}

export interface TimelineRun {
  readonly tenantId: string;
  readonly runId: string;
}

/** A row without its key. Null means that the entry does not have the member. */
type LightRow = { readonly key: string } & { readonly [K in keyof LightTimelineEntry]?: LightTimelineEntry[K] | null };

/** Truncates texts of rules and operators, which have no length limit. */
function begin(column: 'message' | 'reason') {
  return sql`left(${sql.ref(column)}, 300) as message`;
}

/**
 * For calls that only their decision describes: coding agents report no call, and a blocked call is never made. Short
 * values come first: a path says more than the text that is written there.
 */
const SUMMARY = sql`(
  select left(string_agg(left(value #>> '{}', 90), ', ' order by length(value #>> '{}'), key), 90)
  from jsonb_each(case when jsonb_typeof(arguments) = 'object' then arguments else '{}' end)
  where jsonb_typeof(value) in ('string', 'number'))`;

/**
 * Reads timeline entries with statements that do not touch the payloads of events. The returned function looks up an entry by its
 * key.
 */
export async function lightEntriesOf(db: ReadOnly, run: TimelineRun, keys: readonly TimelineKey[]) {
  const of = (type: TimelineKey['type']) => keys.filter((key) => key.type === type);
  const ids = (type: TimelineKey['type']) => sql`any(${of(type).map(({ id }) => id)}::text[])`;
  const mine = sql`tenant_id = ${run.tenantId} and run_id = ${run.runId}`;
  const scoped = sql`tenant_id = ${run.tenantId} and scope = 'run' and scope_id = ${run.runId}`;
  const events = of('event');
  const statements: Readonly<Record<TimelineKey['type'], RawBuilder<LightRow>>> = {
    event: sql`
      select occurred_at as at, event_id as key, agent_id as "agentId", kind,
        coalesce(tool_name, model, source_type) as name, call_id as "callId", is_error as "isError",
        latency_ms as "durationMs", total_tokens as tokens, cost_usd as "costUsd", content_expired as "contentExpired"
      from events
      where ${mine} and occurred_at >= ${events.at(0)?.at ?? null}::timestamptz
        and occurred_at <= ${events.at(-1)?.at ?? null}::timestamptz and event_id = ${ids('event')}`,
    decision: sql`
      select decision_id as key, agent_id as "agentId", phase as kind, coalesce(tool_name, phase) as name, call_id as "callId",
        verdict, effect, would_have as "wouldHave", control, reason, approval_id as "approvalId",
        inputs_digest as "inputsDigest", ${SUMMARY} as summary, ${begin('message')}, latency_ms as "durationMs",
        nullif(${ASKED_TIMES}, 1) as "askedTimes"
      from decisions where ${mine} and decision_id = ${ids('decision')}`,
    trigger: sql`
      select trigger_id as key, agent_id as "agentId", rule_name as name, action_result as status,
        ${begin('message')}
      from guardrail_triggers where ${mine} and trigger_id = ${ids('trigger')}`,
    alert: sql`
      select alert_id as key, agent_id as "agentId", kind, title as name, status
      from alerts where ${mine} and alert_id = ${ids('alert')}`,
    order: sql`
      select order_id as key, state as status, ordered_by as by, ${begin('reason')}
      from control_orders where ${scoped}`,
    breaker: sql`
      select scope_id as key, agent_id as "agentId", state->>'kind' as status, state->>'reason' as message
      from circuit_breakers where ${scoped}`,
  };
  const rows = new Map<string, LightRow>();
  for (const [type, statement] of Object.entries(statements)) {
    if (!keys.some((key) => key.type === type)) continue;
    for (const row of (await statement.execute(db)).rows) {
      // Event ids are not unique on their own, so the key includes the time.
      rows.set(type === 'event' ? `event ${row.at} ${row.key}` : `${type} ${row.key}`, row);
    }
  }
  return ({ type, at, id, moment }: TimelineKey): LightTimelineEntry | undefined => {
    const row = rows.get(`${type} ${type === 'event' ? `${at} ${id}` : id}`);
    if (row === undefined) return undefined;
    const { key: _, ...facts } = { ...row, moment };
    const known = Object.entries(facts).filter(([, value]) => value !== null);
    return { type, at, id, ...Object.fromEntries(known) };
  };
}
