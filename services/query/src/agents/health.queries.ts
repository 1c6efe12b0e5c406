import { DAY_MS } from '@agentlens/contracts';
import type { AgentHealth, HealthSnapshot } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import {
  baselineStart,
  type DailyRollup,
  type HealthWindow,
  healthScore,
  healthWindow,
  windowBefore,
} from '@agentlens/runs';
import { Inject, Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

/** A smaller change of the score counts as stable. */
const STABLE_POINTS = 5;
const SNAPSHOT_DAYS = 7;

@Injectable()
export class HealthQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  /** Returns undefined if the agent had no session in the window. */
  async of(tenantId: string, agentId: string, windowDays: number): Promise<AgentHealth | undefined> {
    const { agents } = await this.#score(tenantId, windowDays, agentId);
    return agents[0];
  }

  async overview(tenantId: string, windowDays: number): Promise<{ agents: AgentHealth[]; computedAt: string }> {
    const { agents, computedAt } = await this.#score(tenantId, windowDays);
    return { agents: agents.sort((a, b) => a.overallScore - b.overallScore), computedAt };
  }

  /** Leaves out days without a session in the preceding seven days. */
  async history(tenantId: string, agentId: string, days: number): Promise<HealthSnapshot[]> {
    const now = this.clock.now();
    const windows = Array.from({ length: days }, (_, ago) => healthWindow(SNAPSHOT_DAYS, now - ago * DAY_MS));
    const [newest] = windows;
    const oldest = windows.at(-1);
    if (newest === undefined || oldest === undefined) return [];
    const rollups = await this.#rollups(tenantId, baselineStart(oldest), newest.to, agentId);
    return windows.flatMap((window) => snapshotOf(agentId, rollups.get(agentId) ?? [], window) ?? []);
  }

  async #score(tenantId: string, windowDays: number, agentId?: string) {
    const now = this.clock.now();
    const window = healthWindow(windowDays, now);
    const computedAt = new Date(now).toISOString();
    const rollups = await this.#rollups(tenantId, baselineStart(windowBefore(window)), window.to, agentId);
    const agents = [...rollups].flatMap(([id, days]) => healthOf(id, days, window, computedAt) ?? []);
    return { agents, computedAt };
  }

  async #rollups(tenantId: string, from: string, to: string, agentId?: string): Promise<Map<string, DailyRollup[]>> {
    const rows = await this.reads.read(tenantId, (db) => {
      const query = db
        .selectFrom('agent_daily')
        .where('tenant_id', '=', tenantId)
        .where('day', '>=', from)
        .where('day', '<=', to)
        .select([
          'agent_id',
          'day',
          'tool_call_count as toolCallCount',
          'tool_error_count as toolErrorCount',
          'run_count as runCount',
          'run_error_count as runErrorCount',
          'run_succeeded_count as runSucceededCount',
          'run_duration_ms as runDurationMs',
          'run_cost_usd as runCostUsd',
        ]);
      return (agentId === undefined ? query : query.where('agent_id', '=', agentId)).execute();
    });
    return Map.groupBy(rows, (row) => row.agent_id);
  }
}

function healthOf(
  agentId: string,
  rollups: readonly DailyRollup[],
  window: HealthWindow,
  computedAt: string,
): AgentHealth | null {
  const now = healthScore(rollups, window);
  if (now === null) return null;
  const before = healthScore(rollups, windowBefore(window));
  const trendDelta = before === null ? 0 : Math.round((now.score - before.score) * 100) / 100;
  return {
    agentId,
    overallScore: now.score,
    trend: trendOf(trendDelta),
    trendDelta,
    dimensions: now.dimensions.map((dimension) => ({ ...dimension })),
    window: { from: `${window.from}T00:00:00.000Z`, to: computedAt },
    sessionCount: now.runCount,
    computedAt,
  };
}

function snapshotOf(agentId: string, rollups: readonly DailyRollup[], window: HealthWindow): HealthSnapshot | null {
  const measured = healthScore(rollups, window);
  if (measured === null) return null;
  const scores = new Map<string, number>(measured.dimensions.map(({ name, score }) => [name, score]));
  return {
    agentId,
    date: window.to,
    overallScore: measured.score,
    errorRateScore: scores.get('error_rate') ?? 0,
    costEfficiencyScore: scores.get('cost_efficiency') ?? 0,
    toolSuccessScore: scores.get('tool_success') ?? 0,
    latencyScore: scores.get('latency') ?? 0,
    completionRateScore: scores.get('completion_rate') ?? 0,
    sessionCount: measured.runCount,
  };
}

function trendOf(delta: number): AgentHealth['trend'] {
  if (Math.abs(delta) < STABLE_POINTS) return 'stable';
  return delta > 0 ? 'improving' : 'degrading';
}
