import type { BacktestExample, BacktestResult } from '@agentlens/contracts';
import type { Database, Tables } from '@agentlens/database';
import type { BacktestFinding } from '@agentlens/replay';
import { type Kysely, sql } from 'kysely';
import type { HistoryRange } from './history.ts';

const CALLS_AT_ONCE = 500;
const MAX_BAD_RUNS = 10_000;
const MAX_RUNS_PRICED = 2_000;

type Outcome = BacktestExample['outcome'];

interface BadRun {
  readonly runId: string;
  readonly agentId: string;
  readonly at: string;
  readonly status: string;
  readonly flagged: boolean;
}

/** Looks up what followed calls and runs. */
export class Outcomes {
  readonly #db: Kysely<Tables>;

  constructor({ db }: Pick<Database, 'db'>) {
    this.#db = db;
  }

  /**
   * Judges stopped calls by what followed. `harmless`: the call happened and succeeded, its run succeeded, and no alert
   * and no person objected. `unknown`: the call did not happen, or its run has not ended.
   */
  async of(tenantId: string, findings: readonly BacktestFinding[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (let from = 0; from < findings.length; from += CALLS_AT_ONCE) {
      const some = findings.slice(from, from + CALLS_AT_ONCE);
      const judged = await this.#judge(tenantId, some);
      for (const [n, finding] of some.entries()) {
        outcomes.push(finding.decisionId === undefined ? 'unknown' : (judged.get(n) ?? 'unknown'));
      }
    }
    return outcomes;
  }

  /** Runs of the range that were killed, failed or flagged, and the newest ones of them outside of `touched`. */
  async missed(range: HistoryRange, touched: ReadonlySet<string>) {
    const { tenantId, fromMs, toMs, agentIds } = range;
    const [from, to] = [fromMs, toMs].map((at) => new Date(at).toISOString());
    const { rows } = await sql<BadRun>`
      select r.run_id as "runId", r.agent_id as "agentId", r.started_at as at, r.status,
        exists (select from alerts a where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.kind <> 'approval')
          as flagged
      from runs r
      where r.tenant_id = ${tenantId} and r.started_at >= ${from}::timestamptz and r.started_at < ${to}::timestamptz
        ${agentIds === undefined ? sql`` : sql`and r.agent_id = any(${agentIds}::text[])`}
        and (r.status in ('failed', 'killed', 'timed_out') or exists (
          select from alerts a where a.tenant_id = r.tenant_id and a.run_id = r.run_id
            and (a.kind <> 'approval' or a.status = 'denied')))
      order by r.started_at desc limit ${MAX_BAD_RUNS}`.execute(this.#db);
    const missed = rows.filter(({ runId }) => !touched.has(runId));
    return { count: missed.length, of: rows.length, runs: missed };
  }

  /** What a stored rule did in the range, by whichever version was in force. */
  async happened(ruleId: string, range: HistoryRange): Promise<NonNullable<BacktestResult['happened']>> {
    const { tenantId, fromMs, toMs, agentIds } = range;
    const [from, to] = [fromMs, toMs].map((at) => new Date(at).toISOString());
    const ofAgents = agentIds === undefined ? sql`` : sql`and agent_id = any(${agentIds}::text[])`;
    const { rows } = await sql<{ triggers: number; stopped: number }>`
      select (select count(*)::int from guardrail_triggers where tenant_id = ${tenantId} and rule_id = ${ruleId}
          and triggered_at >= ${from}::timestamptz and triggered_at < ${to}::timestamptz ${ofAgents}) as triggers,
        (select count(*)::int from decisions where tenant_id = ${tenantId} and final_rule_id = ${ruleId}
          and verdict <> 'ALLOW' and not asked_again
          and decided_at >= ${from}::timestamptz and decided_at < ${to}::timestamptz ${ofAgents}) as stopped`.execute(
      this.#db,
    );
    return rows[0] ?? { triggers: 0, stopped: 0 };
  }

  /** Cost of runs after their first stop. */
  async costAfter(tenantId: string, firstStops: ReadonlyMap<string, string>): Promise<number> {
    const runs = [...firstStops].slice(0, MAX_RUNS_PRICED);
    if (runs.length === 0) return 0;
    const { rows } = await sql<{ cost: number | null }>`
      select sum(e.cost_usd) as cost
      from unnest(${runs.map(([id]) => id)}::text[], ${runs.map(([, at]) => at)}::timestamptz[]) as stop (run_id, at)
      join events e on e.tenant_id = ${tenantId} and e.run_id = stop.run_id and e.occurred_at > stop.at`.execute(
      this.#db,
    );
    return rows[0]?.cost ?? 0;
  }

  async #judge(tenantId: string, findings: readonly BacktestFinding[]): Promise<ReadonlyMap<number, Outcome>> {
    const calls = findings.flatMap(({ decisionId, runId, callId, at }, n) =>
      decisionId === undefined ? [] : [{ n, decisionId, runId, callId: callId ?? null, at }],
    );
    if (calls.length === 0) return new Map();
    const { rows } = await sql<{ n: number; outcome: Outcome }>`
      select c.n, case
          when d.verdict <> 'ALLOW' and approval.status = 'denied' then 'harmful'
          when d.verdict <> 'ALLOW' or r.status is null or r.status = 'running' then 'unknown'
          when r.status = 'succeeded' and not flagged.is and failed.is is not true then 'harmless'
          else 'harmful' end as outcome
      from jsonb_to_recordset(${JSON.stringify(calls)}::jsonb)
        as c (n int, "decisionId" text, "runId" text, "callId" text, at timestamptz)
      join decisions d on d.tenant_id = ${tenantId} and d.decision_id = c."decisionId"
      left join runs r on r.tenant_id = ${tenantId} and r.run_id = c."runId"
      left join alerts approval on approval.tenant_id = ${tenantId} and approval.alert_id = d.approval_id
      cross join lateral (select exists (select from alerts a where a.tenant_id = ${tenantId} and a.run_id = c."runId"
        and (a.kind <> 'approval' or a.status = 'denied')) as is) as flagged
      left join lateral (select bool_or(e.is_error) as is from events e
        where e.tenant_id = ${tenantId} and e.run_id = c."runId" and e.call_id = c."callId"
          and e.occurred_at >= c.at - interval '1 day'
          and e.kind in ('tool.completed', 'llm.completed')) as failed on true`.execute(this.#db);
    return new Map(rows.map(({ n, outcome }) => [n, outcome]));
  }
}
