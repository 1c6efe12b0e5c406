import { agentEvents, GROUPS } from '@agentlens/contracts';
import { type Database, refusalText } from '@agentlens/database';
import { ControlBoard, ControlTables, DecisionMetrics, DecisionPublisher, type Platform } from '@agentlens/platform';
import { AgentEventsConsumer } from './agent-events.consumer.ts';
import { BreakerService } from './breakers/breaker.service.ts';
import { BreakerFeeder } from './breakers/breaker-feeder.ts';
import { BreakerRecorder } from './breakers/breaker-recorder.ts';
import { BreakerTransactions } from './breakers/breaker-transactions.ts';
import { BreakerCommands } from './breakers/breakers.commands.ts';
import { BreakersRepository } from './breakers/breakers.repository.ts';
import { ClosedBreakers } from './breakers/closed-breakers.ts';
import { DueBreakers } from './breakers/due-breakers.ts';
import { BudgetService } from './budgets/budget.service.ts';
import { BudgetCommands } from './budgets/budgets.commands.ts';
import { BudgetsRepository } from './budgets/budgets.repository.ts';
import { EventSpender, OrderReleases } from './budgets/event-spender.ts';
import { LedgerWriter } from './budgets/ledger-writer.ts';
import { SeededBudgetStore } from './budgets/seeded-budget-store.ts';
import { UnpricedAlerts } from './budgets/unpriced-alerts.ts';
import { AgentDirectory } from './decisions/agent-directory.ts';
import { ReportedResults } from './decisions/approvals.ts';
import { DecisionPipeline } from './decisions/decision-pipeline.ts';
import { EndedCalls } from './decisions/ended-calls.ts';
import { FactGatherer } from './decisions/fact-gatherer.ts';
import { RuleBundles } from './decisions/rule-bundle.ts';
import { TenantSteps } from './decisions/rule-steps.ts';
import { StateCircuit } from './decisions/state-circuit.ts';
import { TenantBooks } from './decisions/tenant-books.ts';
import { ToolDefinitionAlerts } from './decisions/tool-definition-alerts.ts';
import { EvaluationMarks } from './evaluation/evaluation-marks.ts';
import { EvaluationPipeline } from './evaluation/evaluation-pipeline.ts';
import { TriggerPublisher } from './evaluation/evaluation-steps.ts';
import { WindowGap, WindowRecovery } from './evaluation/window-recovery.ts';
import { EvaluatorDropMetrics, EvaluatorMetrics } from './evaluator-metrics.ts';
import { HealthTicker, RollupHealthScores } from './health/health-ticker.ts';
import { LabelsRepository } from './labels/labels.repository.ts';
import { LabelCommands, RecordedLabels } from './labels/recorded-labels.ts';
import { EvaluatorLifecycle } from './lifecycle.ts';
import { LoadedSettings } from './loaded-settings.ts';
import { RollbackMonitor } from './rules/rollback-monitor.ts';
import { RuleLibrary } from './rules/rule-library.ts';
import { RuleRollouts } from './rules/rule-rollouts.ts';
import { RuleWriter } from './rules/rule-writer.ts';
import { RulesRepository } from './rules/rules.repository.ts';
import { RulesetWriter } from './rules/ruleset-writer.ts';
import { createSettingsOutbox } from './settings/announce-settings.ts';
import { StateRecorder, StatesRepository } from './states/state-recorder.ts';

type EvaluatorPlatform = Pick<
  Platform,
  | ('breakers' | 'budgets' | 'bus' | 'calls' | 'clock' | 'config' | 'cooldowns' | 'database')
  | ('egressPolicy' | 'evaluationTally' | 'health' | 'labels' | 'logger' | 'secrets' | 'windows')
>;

/** Ports of the evaluator, on its own database. */
export interface EvaluatorPorts extends Omit<EvaluatorPlatform, 'config' | 'database' | 'evaluationTally' | 'health'> {
  readonly health: Pick<Platform['health'], 'add' | 'watchLoop'>;
  readonly control: Pick<ControlBoard, 'stateOf'>;
  readonly database: Database;
  /** Absent if the audit is disabled. */
  readonly evaluationTally?: Platform['evaluationTally'] | undefined;
  /** Counters and budgets live in this process and end with it. */
  readonly losesState?: boolean;
}

/** If a batch waits longer than this, evaluation counts as stalled. */
const STALLED_MS = 30_000;

/** Builds the service without starting it. */
export function wireEvaluator(platform: EvaluatorPlatform) {
  const { bus, clock, config, health } = platform;
  const logger = platform.logger.child({ service: 'guardrail-evaluator' });
  const database = platform.database('guardrail-evaluator');
  const control = new ControlBoard({
    bus,
    clock,
    logger,
    reader: new ControlTables(database),
    onOrder: (order) => evaluator.releases.ordered(order),
  });
  const evaluator = wireOnPorts({
    ...platform,
    control,
    database,
    logger,
    evaluationTally: config.auditEnabled ? platform.evaluationTally : undefined,
    losesState: config.state.kind === 'memory',
  });
  health.add('control', async () => ({ ok: control.loaded }));
  return { control, ...evaluator };
}

/** Builds every class of the service once, with its collaborators. Starts nothing. */
export function wireOnPorts(ports: EvaluatorPorts) {
  const { bus, clock, control, cooldowns, database, egressPolicy, health, logger, secrets, windows } = ports;
  const now = () => clock.now();
  const metrics = new EvaluatorMetrics();
  const drops = new EvaluatorDropMetrics();
  const outbox = createSettingsOutbox({ database, bus, logger, progress: health.watchLoop('evaluator-outbox') });
  const announce = () => outbox.nudge();

  // Rules
  const rulesRepository = new RulesRepository(database);
  const rules = new RuleLibrary(rulesRepository, bus, logger, clock);
  const onRuleChanged = (tenantId: string) => {
    announce();
    return rules.applyChange(tenantId);
  };
  const writer = new RuleWriter(rulesRepository, secrets, egressPolicy, clock, onRuleChanged);
  const rulesets = new RulesetWriter(rulesRepository, secrets, egressPolicy, clock, onRuleChanged);
  const rollouts = new RuleRollouts(writer, clock);
  const rollbacks = new RollbackMonitor({
    ...{ rollouts, database, bus, clock, logger },
    progress: health.watchLoop('rollbacks'),
  });

  // Settings
  const breakersRepository = new BreakersRepository(database, now);
  const budgetsRepository = new BudgetsRepository(database, (tenantId, { budgetId, reservationId }, error) => {
    drops.dropped('ledger_entry', 1);
    const reason = refusalText(error);
    logger.error({ tenantId, budgetId, reservationId, reason }, 'dropped an amount that the ledger cannot store');
  });
  const settings = new LoadedSettings({ breakers: breakersRepository, budgets: budgetsRepository, bus, clock, logger });
  const { limits, budgets, open } = settings;
  const agents = new AgentDirectory(database, clock);
  const books = new TenantBooks({ rules, limits, budgets, open, clock });
  const bundles = new RuleBundles({ rules, agents, limits, budgets, clock });

  // Breakers
  const recorder = new BreakerRecorder({
    ...{ logger, now, store: ports.breakers, repository: breakersRepository, announce, drops },
    progress: health.watchLoop('breaker-records'),
  });
  const closed = new ClosedBreakers();
  const due = new DueBreakers({ bus, limits, now, logger });
  const transactions = new BreakerTransactions({ store: ports.breakers, now, closed, open, recorder, due });
  const breakers = new BreakerService({ transactions, store: ports.breakers, limits, closed, open });
  const breakerCommands = new BreakerCommands({
    repository: breakersRepository,
    transactions,
    limits: (tenantId) => limits.of(tenantId),
    changed: (tenantId) => settings.apply(tenantId, 'limits'),
  });

  // Budgets
  const ledger = new LedgerWriter(
    ports.budgets,
    budgetsRepository,
    () => budgets.tenants,
    logger,
    health.watchLoop('budget-ledger'),
  );
  const budgetStore = new SeededBudgetStore(ports.budgets, budgetsRepository, now, (tenantId) =>
    ledger.touch(tenantId),
  );
  const unpriced = new UnpricedAlerts(bus, logger);
  const releases = new OrderReleases({ budgetStore, clock, logger });
  const budgetCommands = new BudgetCommands({
    repository: budgetsRepository,
    budgetStore,
    now,
    changed: (tenantId) => settings.apply(tenantId, 'budgets'),
  });

  // Decisions
  const ended = new EndedCalls({ bus, logger, drops, progress: health.watchLoop('ended-calls') });
  const decisionMetrics = new DecisionMetrics();
  const decided = new DecisionPublisher(bus, decisionMetrics, logger, { progress: health.watchLoop('decisions') });
  const labels = new RecordedLabels({
    ...{ store: ports.labels, records: new LabelsRepository(database), now, logger, drops },
    progress: health.watchLoop('label-records'),
  });
  const labelCommands = new LabelCommands(labels);
  const circuit = new StateCircuit({ probe: () => ports.breakers.watched('-'), logger });
  const decisions = new DecisionPipeline({
    ...{ control, rules, bus, clock, circuit, logger, breakers, ended },
    metrics: decisionMetrics,
    publisher: decided,
    budgets: new BudgetService({ budgetStore, budgets }),
    facts: new FactGatherer({ calls: ports.calls, labels, windows, circuit, logger, agents }),
    steps: new TenantSteps(now),
  });

  // Events
  const triggers = new TriggerPublisher(cooldowns, bus, metrics);
  const states = new StateRecorder(
    new StatesRepository(database),
    drops,
    logger,
    undefined,
    health.watchLoop('rule-states'),
  );
  const evaluated = { rules, publisher: triggers, states, clock };
  const windowGap = new WindowGap();
  const evaluation = new EvaluationPipeline({ ...evaluated, windows, metrics, drops, windowGap });
  const recovery = new WindowRecovery({
    ...{ evaluator: evaluation, gap: windowGap, bus, clock, logger },
    marker: windows.marker,
  });
  const toolDefinitions = new ToolDefinitionAlerts(bus, logger);
  const feeder = new BreakerFeeder({ transactions, store: ports.breakers, limits, now });
  const spender = new EventSpender({
    ...{ budgetStore, budgets, unpriced, now },
    ...(ports.losesState === true ? { ledger } : {}),
  });
  const results = new ReportedResults({ ended, rules });
  const batchWork = [
    feeder.count.bind(feeder),
    spender.spend.bind(spender),
    results.spend.bind(results),
    toolDefinitions.report.bind(toolDefinitions),
  ];
  const consumer = new AgentEventsConsumer(evaluation, batchWork, logger, createMarks(ports, drops));
  const ticker = new HealthTicker({ ...evaluated, scores: new RollupHealthScores(database), logger });

  const lifecycle = new EvaluatorLifecycle(
    {
      writers: [states, outbox],
      readers: [rules, settings],
      workers: [
        ledger,
        recorder,
        { stop: () => decided.drain() },
        { stop: () => due.drain() },
        toolDefinitions,
        unpriced,
        ended,
        labels,
        { stop: () => decisions.drain() },
        releases,
        circuit,
        rollbacks,
        recovery,
        ticker,
      ],
    },
    logger,
  );
  health.add('guardrail-evaluator', async () => {
    if (!rules.loaded) return { ok: false, detail: { reason: 'rules are not loaded' } };
    const lag = await bus.lag(agentEvents, GROUPS.guardrailEvaluator);
    const detail = { ...lag, rules: rules.book.size, budgets: settings.budgetCount };
    return { ok: lag.oldestAgeMs < STALLED_MS, detail };
  });
  return {
    ...{ lifecycle, rules, writer, rulesets, rollouts, rollbacks, settings, books, bundles, ledger, releases },
    ...{ breakerCommands, budgetCommands, labelCommands, decisions, triggers, consumer },
  };
}

export type WiredEvaluator = ReturnType<typeof wireOnPorts>;

function createMarks(
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
