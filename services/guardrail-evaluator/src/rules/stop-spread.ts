import type { Tables } from '@agentlens/database';
import { type Kysely, sql } from 'kysely';

/** Maximum number of decisions that are looked at; the newest ones. */
const MAX_DECISIONS = 50_000;

/** Different calls of one run of an agent, and how many of them a rule stopped. Equal calls of a run are one call. */
export interface CallsOfRun {
  readonly agentId: string;
  readonly runId: string;
  readonly calls: number;
  readonly stopped: number;
}

interface StopQuestion {
  readonly tenantId: string;
  readonly ruleId: string;
  readonly version: number;
  /** RFC 3339. */
  readonly since: string;
}

/** Reads what an enforced rule did to the calls of each run. */
export async function callsByRun(
  db: Kysely<Tables>,
  { tenantId, ruleId, version, since }: StopQuestion,
): Promise<readonly CallsOfRun[]> {
  const mentions = JSON.stringify([{ ruleId, ruleVersion: version, mode: 'enforce' }]);
  const { rows } = await sql<CallsOfRun>`
    with judged as (
      select d.agent_id, d.run_id, d.tool_name, d.inputs_digest,
        (f->>'violated')::boolean and f->>'effect' in ('ask', 'block', 'terminate') as stopped
      from decisions d cross join lateral jsonb_array_elements(d.evaluated_rules) as f
      where d.tenant_id = ${tenantId} and d.decided_at > ${since}::timestamptz and not d.asked_again
        and d.evaluated_rules @> ${mentions}::jsonb and f->>'ruleId' = ${ruleId}
        and (f->>'ruleVersion')::int = ${version} and f->>'mode' = 'enforce'
      order by d.decided_at desc limit ${MAX_DECISIONS}
    ), calls as (
      select agent_id, run_id, bool_or(stopped) as stopped from judged
      group by agent_id, run_id, tool_name, inputs_digest
    )
    select agent_id as "agentId", run_id as "runId", count(*)::int as calls,
      count(*) filter (where stopped)::int as stopped
    from calls group by 1, 2`.execute(db);
  return rows;
}

/**
 * The lowest stop rate that remains if all calls of any one agent, or of any one run, are left out. No single party can
 * raise it, so that no agent takes back a rule by having its own calls refused. 0 if there is only one.
 */
export function rateWithoutAnyOne(runs: readonly CallsOfRun[]): number {
  const total = sumOf(runs);
  const parties = [Map.groupBy(runs, ({ agentId }) => agentId), Map.groupBy(runs, ({ runId }) => runId)];
  const rates = parties.flatMap((groups) =>
    Array.from(groups.values(), (own) => {
      const { calls, stopped } = sumOf(own);
      return total.calls === calls ? 0 : (total.stopped - stopped) / (total.calls - calls);
    }),
  );
  return rates.length === 0 ? 0 : Math.min(...rates);
}

export function sumOf(runs: readonly CallsOfRun[]): Pick<CallsOfRun, 'calls' | 'stopped'> {
  return runs.reduce((sum, { calls, stopped }) => ({ calls: sum.calls + calls, stopped: sum.stopped + stopped }), {
    calls: 0,
    stopped: 0,
  });
}
