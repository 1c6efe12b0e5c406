/** The counts of one agent's UTC day that its health is judged by: a row of `agent_daily` in the domain's words. */
export interface DailyRollup {
  /** `2026-11-21`. */
  readonly day: string;
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** Runs that started that day. */
  readonly runs: number;
  readonly failedRuns: number;
  readonly completedRuns: number;
  readonly runDurationMs: number;
  readonly runCostUsd: number;
}

export type RollupSums = Omit<DailyRollup, 'day'>;

export function sumRollups(rollups: readonly DailyRollup[]): RollupSums {
  const sums = {
    toolCalls: 0,
    toolErrors: 0,
    runs: 0,
    failedRuns: 0,
    completedRuns: 0,
    runDurationMs: 0,
    runCostUsd: 0,
  };
  for (const rollup of rollups) {
    for (const name of Object.keys(sums) as (keyof RollupSums)[]) sums[name] += rollup[name];
  }
  return sums;
}
