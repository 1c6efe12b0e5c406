import { breakerChanged, type ControlOrder, rulesChanged } from '@agentlens/contracts';
import { refusalText } from '@agentlens/database';
import { BackgroundWork } from '@agentlens/messaging';
import { DecisionMetrics, DecisionPublisher, TenantSettingsCache } from '@agentlens/platform';
import type { BatchWork } from '../agent-events.consumer.ts';
import { BreakerService } from '../breakers/breaker.service.ts';
import { BreakerFeeder } from '../breakers/breaker-feeder.ts';
import { BreakerRecorder } from '../breakers/breaker-recorder.ts';
import { BreakerTransactions } from '../breakers/breaker-transactions.ts';
import { BreakerCommands } from '../breakers/breakers.commands.ts';
import { BreakersRepository } from '../breakers/breakers.repository.ts';
import { ClosedBreakers } from '../breakers/closed-breakers.ts';
import { DueBreakers } from '../breakers/due-breakers.ts';
import { holderOfOrder } from '../budgets/accounts.ts';
import { BudgetService, HELD_MS } from '../budgets/budget.service.ts';
import { BudgetCommands } from '../budgets/budgets.commands.ts';
import { BudgetsRepository } from '../budgets/budgets.repository.ts';
import { EventSpender } from '../budgets/event-spender.ts';
import { LedgerWriter } from '../budgets/ledger-writer.ts';
import { SeededBudgetStore } from '../budgets/seeded-budget-store.ts';
import { UnpricedAlerts } from '../budgets/unpriced-alerts.ts';
import type { EvaluatorDropMetrics } from '../evaluator-metrics.ts';
import { LabelsRepository } from '../labels/labels.repository.ts';
import { LabelCommands, RecordedLabels } from '../labels/recorded-labels.ts';
import type { RuleLibrary } from '../rules/rule-library.ts';
import type { EvaluatorPorts } from '../wire.ts';
import { AgentDirectory } from './agent-directory.ts';
import { ReportedResults } from './approvals.ts';
import { DecisionPipeline } from './decision-pipeline.ts';
import { EndedCalls } from './ended-calls.ts';
import { FactGatherer } from './fact-gatherer.ts';
import { bundleOf } from './rule-bundle.ts';
import { TenantSteps } from './rule-stages.ts';
import { StateCircuit } from './state-circuit.ts';
import { TenantBooks } from './tenant-books.ts';
import { ToolDefinitionAlerts } from './tool-definition-alerts.ts';

/** Changed tenant settings must take effect within 5 s. */
const LIMITS_POLL_MS = 4_000;

/**
 * The part of the service that answers agents: decisions, breakers and budgets, and everything that keeps them up to
 * date.
 */
export class Decisions {
  /** Work of breakers and budgets on each batch of events. */
  readonly batchWork: readonly BatchWork[];
  readonly pipeline: DecisionPipeline;
  /** What gateways decide by. */
  readonly books: TenantBooks;
  readonly breakerCommands: BreakerCommands;
  readonly budgetCommands: BudgetCommands;
  readonly labelCommands: LabelCommands;
  readonly ledger: LedgerWriter;
  readonly #ports: EvaluatorPorts;
  readonly #rules: RuleLibrary;
  readonly #agents: AgentDirectory;
  readonly #recorder: BreakerRecorder;
  readonly #transactions: BreakerTransactions;
  readonly #budgetStore: SeededBudgetStore;
  readonly #publisher: DecisionPublisher;
  readonly #circuit: StateCircuit;
  readonly #breakers: BreakersRepository;
  readonly #budgets: BudgetsRepository;
  readonly #ended: EndedCalls;
  readonly #due: DueBreakers;
  readonly #unpriced: UnpricedAlerts;
  readonly #toolDefinitions: ToolDefinitionAlerts;
  readonly #labels: RecordedLabels;
  readonly #releasing = new BackgroundWork();
  readonly #limits;
  readonly #open;
  readonly #tenantBudgets;

  /** @param announce called when a change is committed and waiting to be announced */
  constructor(ports: EvaluatorPorts, rules: RuleLibrary, drops: EvaluatorDropMetrics, announce: () => void) {
    const { bus, breakers: store, budgets, calls, labels, windows, database, clock, control, health, logger } = ports;
    const now = () => clock.now();
    this.#ports = ports;
    this.#rules = rules;
    this.#agents = new AgentDirectory(database, clock);
    this.#breakers = new BreakersRepository(database, now);
    this.#budgets = new BudgetsRepository(database, (tenantId, { budgetId, reservationId }, error) => {
      drops.dropped('ledger_entry', 1);
      const reason = refusalText(error);
      logger.error({ tenantId, budgetId, reservationId, reason }, 'dropped an amount that the ledger cannot store');
    });
    const shared = { bus, logger, now };
    const announced = { ...shared, topic: rulesChanged };
    this.#limits = new TenantSettingsCache({
      ...announced,
      name: 'breaker limits',
      reader: this.#breakers.limits,
      pollMs: LIMITS_POLL_MS,
    });
    this.#tenantBudgets = new TenantSettingsCache({ ...announced, name: 'budgets', reader: this.#budgets.budgets });
    this.#open = new TenantSettingsCache({
      ...shared,
      topic: breakerChanged,
      name: 'open breakers',
      reader: this.#breakers.open,
    });
    const limits = this.#limits;
    this.#recorder = new BreakerRecorder({
      ...{ logger, now, store, repository: this.#breakers, announce, drops },
      progress: health.watchLoop('breaker-records'),
    });
    const closed = new ClosedBreakers();
    this.#due = new DueBreakers({ bus, limits, now, logger });
    this.#transactions = new BreakerTransactions({
      ...{ store, now, closed, open: this.#open, recorder: this.#recorder, due: this.#due },
    });
    this.books = new TenantBooks({ rules, limits, budgets: this.#tenantBudgets, open: this.#open, clock });
    this.#budgetStore = new SeededBudgetStore(budgets, this.#budgets, now);
    this.ledger = new LedgerWriter(
      budgets,
      this.#budgets,
      () => this.#tenantBudgets.tenants,
      logger,
      health.watchLoop('budget-ledger'),
    );
    const feeder = new BreakerFeeder({ transactions: this.#transactions, store, limits, now });
    this.#unpriced = new UnpricedAlerts(bus, logger);
    this.#toolDefinitions = new ToolDefinitionAlerts(bus, logger);
    const spender = new EventSpender({
      budgetStore: this.#budgetStore,
      budgets: this.#tenantBudgets,
      ledger: this.ledger,
      unpriced: this.#unpriced,
      now,
    });
    this.#ended = new EndedCalls({ bus, logger, drops, progress: health.watchLoop('ended-calls') });
    const results = new ReportedResults({ ended: this.#ended, rules });
    this.batchWork = [
      (batch) => feeder.count(batch),
      (batch) => spender.spend(batch),
      (batch) => results.spend(batch),
      (batch) => this.#toolDefinitions.report(batch),
    ];
    const metrics = new DecisionMetrics();
    this.#publisher = new DecisionPublisher(bus, metrics, logger, { progress: health.watchLoop('decisions') });
    this.#labels = new RecordedLabels({
      ...{ store: labels, records: new LabelsRepository(database), now, logger, drops },
      progress: health.watchLoop('label-records'),
    });
    this.labelCommands = new LabelCommands(this.#labels);
    const circuit = new StateCircuit({ probe: () => store.watched('-'), logger });
    this.#circuit = circuit;
    this.pipeline = new DecisionPipeline({
      ...{ control, rules, bus, metrics, clock, circuit, logger, publisher: this.#publisher },
      breakers: new BreakerService({ transactions: this.#transactions, store, limits, closed, open: this.#open }),
      budgets: new BudgetService({ budgetStore: this.#budgetStore, budgets: this.#tenantBudgets }),
      facts: new FactGatherer({ calls, labels: this.#labels, windows, circuit, logger, agents: this.#agents }),
      ended: this.#ended,
      steps: new TenantSteps(now),
    });
    const reload = (tenantId: string, settings: { reload(tenantId: string): Promise<void> }) =>
      settings.reload(tenantId).catch((err: unknown) => {
        logger.warn({ err, tenantId }, 'applying a change failed, the next poll will retry');
      });
    this.breakerCommands = new BreakerCommands({
      repository: this.#breakers,
      transactions: this.#transactions,
      limits: (tenantId) => this.#limits.of(tenantId),
      changed: (tenantId) => reload(tenantId, this.#limits),
    });
    this.budgetCommands = new BudgetCommands({
      repository: this.#budgets,
      budgetStore: this.#budgetStore,
      ledger: this.ledger,
      now,
      changed: (tenantId) => reload(tenantId, this.#tenantBudgets),
    });
  }

  /** The rules that an agent evaluates in its own process. */
  async bundle({ tenantId, agentId }: { readonly tenantId: string; readonly agentId: string }) {
    const limits = this.#limits.of(tenantId);
    const value = bundleOf({
      agentId,
      agent: await this.#agents.agent(tenantId, agentId),
      rules: await this.#rules.stored(tenantId),
      breakerLimits: limits?.agents.get(agentId) ?? limits?.tenant ?? null,
      defaultBreaker: limits?.defaultBreaker,
      hasTreeLimits: limits?.tree !== undefined,
      hasBudgets: (this.#tenantBudgets.of(tenantId)?.length ?? 0) > 0,
      nowMs: this.#ports.clock.now(),
    });
    return { ok: true as const, value };
  }

  /** @throws Error if the settings cannot be read; may then be called again */
  async load(): Promise<void> {
    await Promise.all([this.#limits.start(), this.#tenantBudgets.start(), this.#open.start()]);
    this.ledger.start();
  }

  /** Reloads the limits and budgets of a tenant. */
  async reload(tenantId: string): Promise<void> {
    await Promise.all([this.#limits.reload(tenantId), this.#tenantBudgets.reload(tenantId)]);
  }

  /** A killed run makes no more calls, so what it reserved is released at once. Never throws. */
  ordered({ tenantId, state, scope, scopeId, issuedAt }: ControlOrder): void {
    const { clock, logger } = this.#ports;
    if (state !== 'killed' || clock.now() - Date.parse(issuedAt) > HELD_MS) return;
    const released = this.#budgetStore
      .release(tenantId, [holderOfOrder({ scope, scopeId })])
      .catch((err: unknown) => logger.warn({ err, tenantId }, 'releasing the budgets of killed runs failed'));
    this.#releasing.add(released);
  }

  /** Writes, publishes and announces everything that is pending. */
  async drain(): Promise<void> {
    this.#circuit.stop();
    await this.#releasing.ended();
    await this.pipeline.drain();
    await this.#labels.stop();
    await this.#ended.stop();
    await this.#unpriced.stop();
    await this.#toolDefinitions.stop();
    await this.#due.drain();
    await this.#publisher.drain();
    await Promise.all([this.#limits.stop(), this.#tenantBudgets.stop(), this.#open.stop()]);
    await this.#recorder.stop();
    await this.ledger.stop();
  }
}
