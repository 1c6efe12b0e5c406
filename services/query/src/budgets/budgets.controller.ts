import { COMMANDS } from '@agentlens/contracts';
import { createBudget, deleteBudget, getBudget, listBudgets } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Body, Controller, Param, Query } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';
import { BudgetsQueries } from './budgets.queries.ts';

@Controller()
export class BudgetsController {
  constructor(
    private readonly budgets: BudgetsQueries,
    private readonly commands: Commands,
  ) {}

  @Serves(createBudget)
  create(@CurrentCaller() { tenantId }: Caller, @Body() body: unknown) {
    return this.commands.forward(COMMANDS.createBudget, { tenantId, body: body ?? null });
  }

  @Serves(listBudgets)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.budgets.list(caller.tenantId, parseOr400(listBudgets.query, query));
    return { budgets: items, ...page };
  }

  @Serves(getBudget)
  async get(@CurrentCaller() { tenantId }: Caller, @Param() params: unknown, @Query() query: unknown) {
    const { id: budgetId } = parseOr400(getBudget.params, params);
    const scope = parseOr400(getBudget.query, query);
    // Known here; only what is spent of it is the evaluator's to say.
    foundOr404('Budget', await this.budgets.get(tenantId, budgetId));
    return this.commands.forward(COMMANDS.budgetStanding, { tenantId, budgetId, ...scope });
  }

  @Serves(deleteBudget)
  async delete(@CurrentCaller() { tenantId }: Caller, @Param() params: unknown) {
    const { id: budgetId } = parseOr400(deleteBudget.params, params);
    return this.commands.forward(COMMANDS.deleteBudget, { tenantId, budgetId });
  }
}
