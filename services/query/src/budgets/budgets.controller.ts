import { COMMANDS } from '@agentlens/contracts';
import {
  createBudget,
  deleteBudget,
  getBudget,
  listBudgets,
  type RequestOf,
  updateBudget,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { BudgetsQueries } from './budgets.queries.ts';

@Controller()
export class BudgetsController {
  constructor(
    private readonly budgets: BudgetsQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(createBudget)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createBudget>) {
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.createBudget, { tenantId: caller.tenantId, body, author });
  }

  @Serves(listBudgets)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listBudgets>) {
    const { items, ...page } = await this.budgets.list(caller.tenantId, query);
    return { budgets: items, ...page };
  }

  @Serves(getBudget)
  async get(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id: budgetId }, query }: RequestOf<typeof getBudget>,
  ) {
    // The budget is known here, but only the evaluator knows how much of it is spent.
    foundOr404('Budget', await this.budgets.get(tenantId, budgetId));
    return this.commands.forward(COMMANDS.budgetStanding, { tenantId, budgetId, ...query });
  }

  @Serves(updateBudget)
  async update(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: budgetId }, headers, body }: RequestOf<typeof updateBudget>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const question = { tenantId: caller.tenantId, budgetId, body, ifVersion: headers['if-match'], author };
    return this.commands.forward(COMMANDS.updateBudget, question);
  }

  @Serves(deleteBudget)
  async delete(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: budgetId }, headers }: RequestOf<typeof deleteBudget>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const question = { tenantId: caller.tenantId, budgetId, ifVersion: headers['if-match'], author };
    return this.commands.forward(COMMANDS.deleteBudget, question);
  }
}
