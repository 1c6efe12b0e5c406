import { MINUTE_MS } from '@agentlens/contracts';
import type { Database, Tables } from '@agentlens/database';
import { type RuleBook, type TickRule, tick } from '@agentlens/guardrails';
import { Repeating } from '@agentlens/messaging';
import type { Clock, Platform } from '@agentlens/platform';
import { baselineStart, type DailyRollup, type HealthWindow, healthScore, healthWindow } from '@agentlens/runs';
import { type Kysely, sql } from 'kysely';
import type { TriggerPublisher } from '../evaluation/evaluation-steps.ts';
import type { StateRecorder } from '../states/state-recorder.ts';

/** Health scores of a tenant's agents over the last days. Agents without data are absent. */
export interface HealthScores {
  of(tenantId: string, windowDays: number, nowMs: number): Promise<ReadonlyMap<string, number>>;
}

interface HealthTickerDependencies {
  readonly rules: { readonly book: RuleBook };
  readonly scores: HealthScores;
  readonly publisher: TriggerPublisher;
  readonly states: Pick<StateRecorder, 'record'>;
  readonly clock: Clock;
  readonly logger: Platform['logger'];
}

/**
 * Evaluates slow conditions once a minute. Every replica does so; they make the same trigger ids, and one of them gets
 * the cooldown.
 */
export class HealthTicker {
  readonly #parts: HealthTickerDependencies;
  readonly #ticking = new Repeating(() => this.tick(this.#parts.clock.now()).then(() => this.#untilNextMinute()));

  constructor(parts: HealthTickerDependencies) {
    this.#parts = parts;
  }

  start(): void {
    this.#ticking.start(this.#untilNextMinute());
  }

  stop(): Promise<void> {
    return this.#ticking.stop();
  }

  /** Evaluates every tenant that has health rules. A tenant that fails is retried in the next minute. */
  async tick(nowMs: number): Promise<void> {
    const { rules, logger } = this.#parts;
    for (const tenantId of rules.book.tenants) {
      const ticking = rules.book.ticking(tenantId);
      if (ticking.length === 0) continue;
      try {
        await this.#tenant(tenantId, ticking, nowMs);
      } catch (error) {
        logger.warn({ err: error, tenantId }, 'evaluating health rules failed, retrying in the next minute');
      }
    }
  }

  async #tenant(tenantId: string, rules: readonly TickRule[], nowMs: number): Promise<void> {
    for (const [windowDays, alike] of Map.groupBy(rules, (rule) => rule.windowDays)) {
      const scores = await this.#parts.scores.of(tenantId, windowDays, nowMs);
      const triggers = alike.flatMap((rule) => this.#measure(rule, scores, nowMs));
      await this.#parts.publisher.admit(triggers);
    }
  }

  #measure(rule: TickRule, scores: ReadonlyMap<string, number>, nowMs: number) {
    const agents = rule.agentId === undefined ? [...scores.keys()] : [rule.agentId];
    return agents.flatMap((agentId) => {
      const { value, trigger } = tick(rule, agentId, scores.get(agentId) ?? null, nowMs);
      this.#parts.states.record({
        tenantId: rule.tenantId,
        ruleId: rule.id,
        agentId,
        lastEvaluatedAt: new Date(nowMs).toISOString(),
        currentValue: value,
        degradedReason: null,
      });
      return trigger ?? [];
    });
  }

  /** Milliseconds to the start of the next minute, so that all replicas evaluate the same minute. */
  #untilNextMinute(): number {
    return MINUTE_MS - (this.#parts.clock.now() % MINUTE_MS);
  }
}

/** The sums of an agent over the window, or over the baseline before it, as if they were one day. */
interface SummedRow extends DailyRollup {
  readonly agentId: string;
}

/**
 * Health scores from `agent_daily`. The database adds up the days, so each agent is two rows regardless of the window.
 */
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
