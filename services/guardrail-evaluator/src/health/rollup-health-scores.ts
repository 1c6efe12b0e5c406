import type { Database, Tables } from '@agentlens/database';
import { baselineStart, type DailyRollup, type HealthWindow, healthScore, healthWindow } from '@agentlens/runs';
import { type Kysely, sql } from 'kysely';
import type { HealthScores } from './health-ticker.ts';

/** The sums of an agent over the window and over the baseline before it, each as if it were one day. */
interface SummedRow extends DailyRollup {
  readonly agentId: string;
}

/** Scores from `agent_daily`. The days are added up by the database: two rows per agent, however long the window. */
export class RollupHealthScores implements HealthScores {
  readonly #db: Kysely<Tables>;

  constructor({ db }: Pick<Database, 'db'>) {
    this.#db = db;
  }

  async of(tenantId: string, windowDays: number, nowMs: number): Promise<ReadonlyMap<string, number>> {
    const window = healthWindow(windowDays, nowMs);
    const scores = new Map<string, number>();
    for (const [agentId, rollups] of Map.groupBy(await this.#sums(tenantId, window), (row) => row.agentId)) {
      const health = healthScore(rollups, window);
      if (health !== null) scores.set(agentId, health.score);
    }
    return scores;
  }

  async #sums(tenantId: string, { from, to }: HealthWindow): Promise<SummedRow[]> {
    const start = baselineStart({ from, to });
    const { rows } = await sql<SummedRow>`
      select agent_id as "agentId", case when day >= ${from}::date then ${to} else ${start} end as day,
        sum(tool_call_count) as "toolCallCount", sum(tool_error_count) as "toolErrorCount",
        sum(run_count) as "runCount", sum(run_error_count) as "runErrorCount",
        sum(run_succeeded_count) as "runSucceededCount", sum(run_duration_ms) as "runDurationMs",
        sum(run_cost_usd) as "runCostUsd"
      from agent_daily
      where tenant_id = ${tenantId} and day between ${start}::date and ${to}::date
      group by 1, 2`.execute(this.#db);
    return rows;
  }
}
