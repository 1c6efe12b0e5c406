import { agentEvents, BreakerChanged, breakerChanged, GROUPS, RulesChanged, rulesChanged } from '@agentlens/contracts';
import { type Database, OutboxRelay, type Tables } from '@agentlens/database';
import type { Rearming } from '@agentlens/guardrails';
import { BusUnavailable, type EventBus } from '@agentlens/messaging';
import type { HealthAnswer, LoopProgress, Platform } from '@agentlens/platform';
import { baselineStart, type DailyRollup, type HealthWindow, healthScore, healthWindow } from '@agentlens/runs';
import { type Kysely, sql } from 'kysely';
import { AgentEventsConsumer } from './agent-events.consumer.ts';
import { Decisions } from './decisions/decisions.ts';
import { EvaluationMarks } from './evaluation/evaluation-marks.ts';
import { EvaluationPipeline } from './evaluation/evaluation-pipeline.ts';
import { TriggerPublisher } from './evaluation/evaluation-stages.ts';
import { WindowGap, WindowRecovery } from './evaluation/window-recovery.ts';
import { EvaluatorDropMetrics, EvaluatorMetrics } from './evaluator-metrics.ts';
import { type HealthScores, HealthTicker } from './health/health-ticker.ts';
import { RollbackMonitor } from './rules/rollback-monitor.ts';
import { RuleLibrary } from './rules/rule-library.ts';
import { RuleRollouts } from './rules/rule-rollouts.ts';
import { RuleWriter } from './rules/rule-writer.ts';
import { RulesRepository } from './rules/rules.repository.ts';
import { RulesetWriter } from './rules/ruleset-writer.ts';
import { WRITER } from './settings/announce-settings.ts';
import { StateRecorder, StatesRepository } from './states/state-recorder.ts';
import type { EvaluatorPorts } from './wire.ts';

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

const RETRY_MS = 1_000;
/** If a batch waits longer than this, evaluation counts as stalled. */
const STALLED_MS = 30_000;

/** The guardrail evaluator service: its parts and the order in which they start and stop. */
export class GuardrailEvaluator {
  readonly rules: RuleLibrary;
  readonly ticker: HealthTicker;
  readonly decisions: Decisions;
  readonly writer: RuleWriter;
  readonly rulesets: RulesetWriter;
  readonly rollouts: RuleRollouts;
  readonly rollbacks: RollbackMonitor;
  readonly consumer: AgentEventsConsumer;
  readonly #ports: EvaluatorPorts;
  readonly #relay: OutboxRelay;
  readonly #states: StateRecorder;
  readonly #recovery: WindowRecovery;
  readonly #loaded = Promise.withResolvers<void>();
  readonly #recovered = Promise.withResolvers<void>();
  #retry: NodeJS.Timeout | undefined;
  #starting: Promise<void> | undefined;
  #stopped = false;

  constructor(ports: EvaluatorPorts) {
    const { bus, windows, cooldowns, database, clock, secrets, egressPolicy, health, logger } = ports;
    const metrics = new EvaluatorMetrics();
    const drops = new EvaluatorDropMetrics();
    const repository = new RulesRepository(database);
    const publisher = new TriggerPublisher(cooldowns, bus, metrics);
    this.#ports = ports;
    this.#states = new StateRecorder(
      new StatesRepository(database),
      drops,
      logger,
      undefined,
      health.watchLoop('rule-states'),
    );
    this.rules = new RuleLibrary(repository, bus, logger, clock);
    this.#relay = relayOf(database, bus, logger, health.watchLoop('evaluator-outbox'));
    this.decisions = new Decisions(ports, this.rules, drops, () => this.#relay.nudge());
    const changed = (tenantId: string) => this.#ruleChanged(tenantId);
    this.writer = new RuleWriter(repository, secrets, egressPolicy, clock, changed);
    this.rollouts = new RuleRollouts(this.writer, clock);
    this.rollbacks = new RollbackMonitor({
      ...{ rollouts: this.rollouts, database, bus, clock, logger },
      progress: health.watchLoop('rollbacks'),
    });
    this.rulesets = new RulesetWriter(repository, secrets, egressPolicy, clock, changed);
    const shared = { rules: this.rules, publisher, states: this.#states, clock };
    const gap = new WindowGap();
    const evaluator = new EvaluationPipeline({ ...shared, windows, metrics, drops, windowGap: gap });
    this.#recovery = new WindowRecovery({ marker: windows.marker, evaluator, gap, bus, clock, logger });
    this.consumer = new AgentEventsConsumer(evaluator, this.decisions.batchWork, logger, marksOf(ports, drops));
    this.ticker = new HealthTicker({ ...shared, scores: new RollupHealthScores(database), logger });
  }

  /** Nothing may be consumed without rules. While they cannot be read, starting continues in the background. */
  async start(): Promise<void> {
    this.#states.start();
    this.#relay.start();
    await this.#startEvaluating();
  }

  /** Resolves when rules and settings are loaded. Without all of them a decision would be wrong. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Resolves when events may be evaluated: rules are loaded and lost windows are being rebuilt. */
  get recovered(): Promise<void> {
    return this.#recovered.promise;
  }

  /** Ends the cooldowns of these rules for an agent. */
  async rearm(rearming: Rearming) {
    await this.#ports.cooldowns.rearm(rearming);
    return { ok: true, value: { ok: true } } as const;
  }

  /** Finishes work in progress and writes what is pending. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#starting;
    await this.#recovery.stop();
    await this.ticker.stop();
    await this.rollbacks.stop();
    await this.rules.stop();
    await this.decisions.drain();
    await this.#relay.stop();
    await this.#states.stop();
  }

  async health(): Promise<HealthAnswer> {
    if (!this.rules.loaded) return { ok: false, detail: { reason: 'rules are not loaded' } };
    const lag = await this.#ports.bus.lag(agentEvents, GROUPS.guardrailEvaluator);
    return { ok: lag.oldestAgeMs < STALLED_MS, detail: { ...lag, rules: this.rules.book.size } };
  }

  async #startEvaluating(): Promise<void> {
    try {
      await this.rules.start();
      await this.decisions.load();
    } catch (error) {
      this.#ports.logger.warn({ err: error }, 'loading rules failed, will retry');
      if (this.#stopped) return;
      this.#retry = setTimeout(() => {
        this.#starting = this.#startEvaluating();
      }, RETRY_MS);
      return;
    }
    this.#loaded.resolve();
    this.rollbacks.start();
    await this.#recovery.start();
    this.#recovered.resolve();
    this.ticker.start();
  }

  /**
   * Reloads this instance at once; other instances follow the announcement. A failed reload must not fail a committed
   * change.
   */
  async #ruleChanged(tenantId: string): Promise<void> {
    this.#relay.nudge();
    if (!this.rules.loaded) return;
    await this.rules.reload(tenantId).catch((error: unknown) => {
      this.#ports.logger.warn({ err: error, tenantId }, 'reloading a changed rule failed, the next poll will retry');
    });
  }
}

function marksOf(
  { evaluationTally, logger }: EvaluatorPorts,
  drops: EvaluatorDropMetrics,
): EvaluationMarks | undefined {
  if (evaluationTally === undefined) return undefined;
  return new EvaluationMarks(
    evaluationTally,
    (err) => logger.warn({ err }, 'writing evaluation marks failed, will retry'),
    (count) => drops.dropped('evaluation_mark', count),
  );
}

function relayOf({ db }: Database, bus: EventBus, logger: Platform['logger'], progress: LoopProgress): OutboxRelay {
  return new OutboxRelay({
    db,
    writer: WRITER,
    publish: ({ topic, body }) =>
      topic === breakerChanged.name
        ? bus.publish(breakerChanged, BreakerChanged.parse(body))
        : bus.publish(rulesChanged, RulesChanged.parse(body)),
    isRefused: (error) => !(error instanceof BusUnavailable),
    onRefused: ({ id, topic }, err) => logger.error({ err, id, topic }, 'dropped a change that cannot be published'),
    attempt: (work) => progress.attempt(work),
    onError: (error) => logger.warn({ err: error }, 'publishing changes from the outbox failed, will retry'),
  });
}
