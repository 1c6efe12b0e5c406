import { COMMANDS } from '@agentlens/contracts';
import { DEFAULT_BREAKER_LIMITS } from '@agentlens/guardrails';
import {
  deleteBreakerLimits,
  getBreakerLimits,
  listBreakers,
  patchBreakerLimits,
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
  setLimits(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof setBreakerLimits>) {
    return this.changeLimits(COMMANDS.setBreakerLimits, caller, request);
  }

  @Serves(patchBreakerLimits)
  patchLimits(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof patchBreakerLimits>) {
    return this.changeLimits(COMMANDS.patchBreakerLimits, caller, request);
  }

  private async changeLimits(
    command: typeof COMMANDS.setBreakerLimits | typeof COMMANDS.patchBreakerLimits,
    caller: Caller,
    { body, headers }: RequestOf<typeof setBreakerLimits> | RequestOf<typeof patchBreakerLimits>,
  ) {
    const { tenantId } = caller;
    const { scope, id: scopeId = tenantId, limits: sent } = body;
    if (scope === 'tenant' && scopeId !== tenantId) throw new ProblemException(404, 'Tenant not found');
    const { author } = await this.names.authorOf(caller);
    const question = { tenantId, scope, scopeId, body: sent, author, ifVersion: headers['if-match'] };
    const { version, ...limits } = await this.commands.forward(command, question);
    return { scope, scopeId, limits, version };
  }

  @Serves(deleteBreakerLimits)
  async deleteLimits(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { scope, id: scopeId }, headers }: RequestOf<typeof deleteBreakerLimits>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const question = { tenantId: caller.tenantId, scope, scopeId, author, ifVersion: headers['if-match'] };
    return this.commands.forward(COMMANDS.deleteBreakerLimits, question);
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
