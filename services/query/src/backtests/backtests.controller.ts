import { COMMANDS } from '@agentlens/contracts';
import {
  cancelBacktest,
  createBacktest,
  getBacktest,
  listBacktestFindings,
  listBacktests,
  type RequestOf,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { BacktestsQueries } from './backtests.queries.ts';

const BACKTEST = 'Backtest';

@Controller()
export class BacktestsController {
  constructor(
    private readonly backtests: BacktestsQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(createBacktest)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createBacktest>) {
    const { by } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.createBacktest, { tenantId: caller.tenantId, body, by });
  }

  @Serves(listBacktests)
  async list(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof listBacktests>) {
    const { items, ...page } = await this.backtests.list(tenantId, query);
    return { backtests: items, ...page };
  }

  @Serves(getBacktest)
  async get(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getBacktest>) {
    return foundOr404(BACKTEST, await this.backtests.get(tenantId, id));
  }

  @Serves(cancelBacktest)
  cancel(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params: { id } }: RequestOf<typeof cancelBacktest>) {
    return this.commands.forward(COMMANDS.cancelBacktest, { tenantId, backtestId: id });
  }

  @Serves(listBacktestFindings)
  async findings(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof listBacktestFindings>,
  ) {
    foundOr404(BACKTEST, await this.backtests.get(tenantId, id));
    return this.backtests.findings(tenantId, id, query);
  }
}
