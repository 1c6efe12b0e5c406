import { COMMANDS } from '@agentlens/contracts';
import { DEFAULT_BREAKER_LIMITS } from '@agentlens/guardrails';
import {
  deleteBreakerLimits,
  getBreakerLimits,
  listBreakers,
  type RequestOf,
  resetBreaker,
  setBreakerLimits,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { KeyNames } from '../keys/key-names.ts';
import { BreakersQueries } from './breakers.queries.ts';

@Controller()
export class BreakersController {
  constructor(
    private readonly breakers: BreakersQueries,
    private readonly names: KeyNames,
    private readonly commands: Commands,
  ) {}

  @Serves(listBreakers)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listBreakers>) {
    const { items, ...page } = await this.breakers.list(caller.tenantId, query);
    return { breakers: items, ...page };
  }

  @Serves(getBreakerLimits)
  async limits(@CurrentCaller() { tenantId }: Caller) {
    return { defaults: DEFAULT_BREAKER_LIMITS, limits: await this.breakers.limits(tenantId) };
  }

  @Serves(setBreakerLimits)
  async setLimits(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof setBreakerLimits>) {
    const { tenantId } = caller;
    const { scope, id: scopeId = tenantId, limits } = body;
    if (scope === 'tenant' && scopeId !== tenantId) throw new ProblemException(404, 'Tenant not found');
    const { author } = await this.names.authorOf(caller);
    const question = { tenantId, scope, scopeId, body: limits, author };
    return { scope, scopeId, limits: await this.commands.forward(COMMANDS.setBreakerLimits, question) };
  }

  @Serves(deleteBreakerLimits)
  async deleteLimits(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { scope, id: scopeId } }: RequestOf<typeof deleteBreakerLimits>,
  ) {
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.deleteBreakerLimits, { tenantId: caller.tenantId, scope, scopeId, author });
  }

  @Serves(resetBreaker)
  async reset(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { scope, id: scopeId } }: RequestOf<typeof resetBreaker>,
  ) {
    const authorship = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.resetBreaker, { tenantId: caller.tenantId, scope, scopeId, ...authorship });
  }
}
