import { COMMANDS } from '@agentlens/contracts';
import { getAgent, getAgentHealth, getHealthOverview, listAgents, unpauseAgent } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Body, Controller, Param, Query } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';
import { AgentsQueries } from './agents.queries.ts';
import { HealthQueries } from './health.queries.ts';

@Controller()
export class AgentsController {
  constructor(
    private readonly agents: AgentsQueries,
    private readonly health: HealthQueries,
    private readonly commands: Commands,
  ) {}

  @Serves(listAgents)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.agents.list(caller.tenantId, parseOr400(listAgents.query, query));
    return { agents: items, ...page };
  }

  @Serves(getAgent)
  async get(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id } = parseOr400(getAgent.params, params);
    return foundOr404('Agent', await this.agents.get(caller.tenantId, id));
  }

  @Serves(unpauseAgent)
  async unpause(@CurrentCaller() caller: Caller, @Param() params: unknown, @Body() body: unknown) {
    const { id: agentId } = parseOr400(unpauseAgent.params, params);
    const { clearModelOverride } = parseOr400(unpauseAgent.body, body ?? undefined);
    foundOr404('Agent', await this.agents.get(caller.tenantId, agentId));
    await this.commands.forward(COMMANDS.unpauseAgent, { tenantId: caller.tenantId, agentId, clearModelOverride });
    return foundOr404('Agent', await this.agents.get(caller.tenantId, agentId));
  }

  @Serves(getAgentHealth)
  async healthOf(@CurrentCaller() caller: Caller, @Param() params: unknown, @Query() query: unknown) {
    const { id } = parseOr400(getAgentHealth.params, params);
    const { window } = parseOr400(getAgentHealth.query, query);
    foundOr404('Agent', await this.agents.get(caller.tenantId, id));
    return foundOr404('Session of this agent in the window', await this.health.of(caller.tenantId, id, window));
  }

  @Serves(getHealthOverview)
  async overview(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    return this.health.overview(caller.tenantId, parseOr400(getHealthOverview.query, query).window);
  }
}
