import { COMMANDS } from '@agentlens/contracts';
import { createOrder, listOrders, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { KeyNames } from '../keys/key-names.ts';
import { ControlQueries } from './control.queries.ts';
import { OrderWatch } from './order-watch.ts';

/**
 * Hint for an unknown id. The order is still accepted, because it may be given before its run or agent reports for the
 * first time.
 */
function unknown(scope: string, id: string) {
  const hint = `The ${scope} ${JSON.stringify(id)} has not reported yet. Check the spelling; GET /api/${scope}s lists known ones.`;
  return { unknownScope: true as const, hint };
}

@Controller()
export class ControlController {
  constructor(
    private readonly control: ControlQueries,
    private readonly watch: OrderWatch,
    private readonly names: KeyNames,
    private readonly commands: Commands,
  ) {}

  @Serves(createOrder)
  async order(@CurrentCaller() caller: Caller, @FromRequest() { body, headers }: RequestOf<typeof createOrder>) {
    const { tenantId } = caller;
    const { scope, id = tenantId, state, reason, waitMs } = body;
    if (scope === 'tenant' && id !== tenantId) throw new ProblemException(404, 'Tenant not found');
    const authorship = await this.names.authorOf(caller);
    const agentId = scope === 'run' ? await this.control.agentOf(tenantId, id) : undefined;
    const isKnown =
      scope === 'agent' ? await this.control.isAgent(tenantId, id) : scope === 'tenant' || agentId !== undefined;
    const ifVersion = headers['if-match'];
    const question = { tenantId, scope, scopeId: id, agentId, state, reason, ifVersion, ...authorship };
    const order = await this.commands.forward(COMMANDS.orderControl, question);
    return { order, ...(await this.watch.follow(order, waitMs)), ...(isKnown ? {} : unknown(scope, id)) };
  }

  @Serves(listOrders)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listOrders>) {
    const { items, ...page } = await this.control.list(caller.tenantId, query);
    return { orders: items, ...page };
  }
}
