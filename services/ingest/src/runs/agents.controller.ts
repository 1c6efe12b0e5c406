import { AgentBody, type AgentRegistration, agentRegistered, ToolsBody } from '@agentlens/contracts';
import { registerAgent, registerAgentTools, upsertAgent } from '@agentlens/operations/ingest';
import { type Caller, CurrentCaller, requireAgent, Serves } from '@agentlens/platform';
import { Body, Controller, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { EventIngestor } from '../event-ingestor.ts';
import { readBody, readId } from '../http/read-body.ts';

/** Registers agents and their tools. The slug is the agent's id: stable and readable. */
@Controller()
export class ProtocolAgentsController {
  constructor(@Inject(EventIngestor) private readonly ingestor: EventIngestor) {}

  @Serves(registerAgent, { checksKeys: true })
  async register(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ agentId: string }> {
    const { slug, name, description, tags, tools } = readBody(AgentBody, body);
    requireAgent(caller, slug, 'slug');
    await this.#record(caller, slug, { slug, ...present({ name, description, tags, tools }) }, reply);
    return { agentId: slug };
  }

  /** Older clients of the protocol upsert with PUT. */
  @Serves(upsertAgent, { checksKeys: true })
  upsert(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ agentId: string }> {
    return this.register(caller, body, reply);
  }

  /** Merged by name into the tools registered before. */
  @Serves(registerAgentTools, { checksKeys: true })
  async registerTools(
    @CurrentCaller() caller: Caller,
    @Param('agentId') agentIdText: string,
    @Body() body: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ agentId: string; tools: number }> {
    const agentId = readId('agentId', agentIdText);
    requireAgent(caller, agentId, 'path.agentId');
    const { tools } = readBody(ToolsBody, body);
    await this.#record(caller, agentId, { tools }, reply);
    return { agentId, tools: tools.length };
  }

  async #record(caller: Caller, agentId: string, registration: AgentRegistration, reply: FastifyReply): Promise<void> {
    await this.ingestor.admit(caller, 1, reply);
    await this.ingestor.record(caller.tenantId, agentRegistered(agentId, registration));
  }
}

function present(
  members: {
    readonly [Key in keyof AgentRegistration]: AgentRegistration[Key] | null;
  },
): AgentRegistration {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null));
}
