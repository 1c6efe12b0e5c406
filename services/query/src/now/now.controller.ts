import { type Budget, type BudgetBalance, COMMANDS, DAY_MS } from '@agentlens/contracts';
import { getNow } from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, ProblemException, port, Serves } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { AgentsQueries } from '../agents/agents.queries.ts';
import { AlertsQueries } from '../alerts/alerts.queries.ts';
import { AnalyticsQueries } from '../analytics/analytics.queries.ts';
import { BreakersQueries } from '../breakers/breakers.queries.ts';
import { BudgetsQueries } from '../budgets/budgets.queries.ts';
import { ControlQueries } from '../control/control.controller.ts';
import { Commands } from '../http/commands.ts';
import { SystemReads } from '../system/system.reads.ts';
import { NowQueries } from './now.queries.ts';
import { UnusualQueries } from './unusual.queries.ts';

const MOST = { limit: 50, offset: 0 };
const ALERT_PAGE = { limit: 200, offset: 0 };
const BUDGET_PAGE = { limit: 50, offset: 0 };
const LAG_MAX_AGE_MS = 5_000;

/**
 * Returns the whole overview page in one response, because the page is opened on a phone at night and reloaded after
 * every change.
 */
@Controller()
export class NowController {
  private latestLag: { readonly at: number; readonly value: ReturnType<NowController['readLag']> } | undefined;

  constructor(
    private readonly figures: NowQueries,
    private readonly unusual: UnusualQueries,
    private readonly alerts: AlertsQueries,
    private readonly control: ControlQueries,
    private readonly agents: AgentsQueries,
    private readonly breakers: BreakersQueries,
    private readonly budgets: BudgetsQueries,
    private readonly analytics: AnalyticsQueries,
    private readonly commands: Commands,
    private readonly system: SystemReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(getNow)
  async get(@CurrentCaller() { tenantId }: Caller) {
    const [figures, unusual, approvals, open, orders, paused, breakers, overview, budgets, lag] = await Promise.all([
      this.figures.figures(tenantId),
      this.unusual.read(tenantId),
      this.alerts.list(tenantId, { ...MOST, kind: ['approval'], status: ['pending', 'acknowledged'] }),
      this.alerts.list(tenantId, { ...ALERT_PAGE, kind: ['breaker', 'rule', 'security'], status: ['pending'] }),
      this.control.list(tenantId, { ...MOST, state: ['paused', 'killed'] }),
      this.agents.list(tenantId, { ...MOST, paused: true }),
      this.breakers.list(tenantId, { ...MOST, state: ['open', 'half_open'] }),
      this.analytics.overview(tenantId),
      this.budgets.list(tenantId, { ...BUDGET_PAGE, enabled: true }),
      this.lag(),
    ]);
    return {
      ...figures,
      unusual,
      approvals: approvals.items.toSorted((a, b) => ((a.expiresAt ?? '9') < (b.expiresAt ?? '9') ? -1 : 1)),
      openAlerts: open.items.length,
      lag,
      orders: orders.items
        .filter((order) => this.isCurrent(order))
        .map(({ acknowledged: _a, fastestMs: _f, slowestMs: _s, ...order }) => order),
      pausedAgents: paused.items,
      openBreakers: breakers.items,
      spentTodayUsd: overview.today.costUsd,
      budgets: (await Promise.all(budgets.items.map((budget) => this.controlStateOf(tenantId, budget)))).toSorted(
        byFullness,
      ),
    };
  }

  /** Killed runs stay killed, so after a day they are history. */
  private isCurrent({ scope, issuedAt }: { readonly scope: string; readonly issuedAt: string }): boolean {
    return scope !== 'run' || Date.parse(issuedAt) > this.clock.now() - DAY_MS;
  }

  /** Asks the broker once in five seconds for all readers. Null if it does not answer. */
  private lag() {
    const now = this.clock.now();
    if (this.latestLag === undefined || now - this.latestLag.at >= LAG_MAX_AGE_MS)
      this.latestLag = { at: now, value: this.readLag() };
    return this.latestLag.value;
  }

  private async readLag() {
    try {
      const { consumers } = await this.system.lag();
      return consumers.map(({ group, oldestAgeMs }) => ({ group, oldestAgeMs: oldestAgeMs ?? 0 }));
    } catch (error) {
      if (!(error instanceof ProblemException)) throw error;
      return null;
    }
  }

  /** Leaves pots out if the evaluator does not answer, so that the rest of the page does not wait for it. */
  private async controlStateOf(tenantId: string, budget: Budget): Promise<BudgetBalance> {
    try {
      return await this.commands.forward(COMMANDS.budgetStanding, { tenantId, budgetId: budget.id });
    } catch (error) {
      if (!(error instanceof ProblemException)) throw error;
      return { budget, pots: [] };
    }
  }
}

function byFullness(a: BudgetBalance, b: BudgetBalance): number {
  return fullness(b) - fullness(a);
}

function fullness({ budget, pots }: BudgetBalance): number {
  return Math.max(0, ...pots.map(({ spentUsd, reservedUsd }) => (spentUsd + reservedUsd) / budget.limitUsd));
}
