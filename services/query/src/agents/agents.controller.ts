import { COMMANDS } from '@agentlens/contracts';
import {
  getAgent,
  getAgentHealth,
  getHealthHistory,
  getHealthOverview,
  listAgents,
  type RequestOf,
  unpauseAgent,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { AgentsQueries } from './agents.queries.ts';
import { HealthQueries } from './health.queries.ts';

@Controller()
export class AgentsController {
  constructor(
    private readonly agents: AgentsQueries,
    private readonly health: HealthQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(listAgents)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listAgents>) {
    const { items, ...page } = await this.agents.list(caller.tenantId, query);
    return { agents: items, ...page };
  }

  @Serves(getAgent)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getAgent>) {
    return foundOr404('Agent', await this.agents.get(caller.tenantId, id));
  }

  @Serves(unpauseAgent)
  async unpause(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: agentId }, body }: RequestOf<typeof unpauseAgent>,
  ) {
    const { clearModelOverride } = body;
    foundOr404('Agent', await this.agents.get(caller.tenantId, agentId));
    const { tenantId } = caller;
    const { author } = await this.names.authorOf(caller);
    const order = { tenantId, agentId, clearModelOverride, author };
    const { rearmed } = await this.commands.forward(COMMANDS.unpauseAgent, order);
    return { ...foundOr404('Agent', await this.agents.get(tenantId, agentId)), rearmed };
  }

  @Serves(getHealthHistory)
  async healthHistory(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getHealthHistory>) {
    return { snapshots: await this.health.history(caller.tenantId, query.agentId, query.days), ...query };
  }

  @Serves(getAgentHealth)
  async healthOf(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof getAgentHealth>,
  ) {
    const { window } = query;
    foundOr404('Agent', await this.agents.get(caller.tenantId, id));
    return foundOr404('Session of this agent in the window', await this.health.of(caller.tenantId, id, window));
  }

  @Serves(getHealthOverview)
  async overview(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getHealthOverview>) {
    return this.health.overview(caller.tenantId, query.window);
  }
}
