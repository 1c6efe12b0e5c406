import type { Pool } from 'pg';
import { request } from 'undici';
import type { Stack } from '../harness/stack.ts';
import { until } from '../harness/time.ts';

interface Detail {
  readonly pending?: number;
  readonly unacknowledged?: number;
  readonly rules?: number;
}

/** Details of all checks of all services, from `/readyz`. */
async function details({ services }: Stack): Promise<Detail[]> {
  const reports = await Promise.all(
    services.map(async ({ url }) => {
      const answer = await request(`${url}/readyz`);
      const report = (await answer.body.json()) as { readonly checks: Record<string, { readonly detail?: Detail }> };
      return Object.values(report.checks);
    }),
  );
  return reports.flat().flatMap(({ detail }) => (detail === undefined ? [] : [detail]));
}

/** Messages of events that are pending or unacknowledged, over all consumers. */
export async function backlogOf(stack: Stack): Promise<number> {
  const known = await details(stack);
  return known.reduce((sum, { pending = 0, unacknowledged = 0 }) => sum + pending + unacknowledged, 0);
}

/**
 * Waits until every consumer has processed all accepted events. @throws an error that names `what` after the deadline
 */
export async function digested(stack: Stack, what: string, deadlineMs: number): Promise<void> {
  await until(`${what} to be digested`, async () => ((await backlogOf(stack)) === 0 ? true : undefined), deadlineMs);
}

/** Number of rules that the evaluator has loaded. */
export async function heldRules(stack: Stack): Promise<number | undefined> {
  return (await details(stack)).find(({ rules }) => rules !== undefined)?.rules;
}

/** What the platform recorded for the agents of one load, over all tenants. */
export interface BenchOnRecord {
  readonly rows: number;
  readonly counted: number;
  readonly countedErrors: number;
  readonly countedInRuns: number;
  readonly triggers: number;
  /** From the tally of the evaluators, if they share one. */
  readonly evaluated?: number;
}

/** Cheap enough to run while the platform works. */
export async function countedEvents(pool: Pool, label: string): Promise<number> {
  const { rows } = await pool.query<{ events: number }>(
    'select coalesce(sum(event_count), 0)::int as events from agents where agent_id like $1',
    [`${label}-agent-%`],
  );
  return rows[0]?.events ?? 0;
}

export async function recordOf(pool: Pool, label: string): Promise<BenchOnRecord> {
  const { rows } = await pool.query<BenchOnRecord>(
    `select
       (select count(*)::int from events where agent_id like $1) as rows,
       (select coalesce(sum(event_count), 0)::int from agents where agent_id like $1) as counted,
       (select coalesce(sum(error_count), 0)::int from agents where agent_id like $1) as "countedErrors",
       (select coalesce(sum(event_count), 0)::int from runs where agent_id like $1) as "countedInRuns",
       (select count(*)::int from guardrail_triggers where agent_id like $1) as triggers`,
    [`${label}-agent-%`],
  );
  const [record] = rows;
  if (record === undefined) throw new Error('Postgres returned no row');
  return record;
}

export async function countedTriggers(pool: Pool, label: string): Promise<number> {
  const { rows } = await pool.query<{ triggers: number }>(
    'select count(*)::int as triggers from guardrail_triggers where agent_id like $1',
    [`${label}-agent-%`],
  );
  return rows[0]?.triggers ?? 0;
}

/** Number of successful deliveries. */
export async function delivered(pool: Pool, label: string): Promise<number> {
  const { rows } = await pool.query<{ done: number }>(
    `select count(*)::int as done from deliveries where agent_id like $1 and result = 'success'`,
    [`${label}-agent-%`],
  );
  return rows[0]?.done ?? 0;
}
