import { COMMANDS, type GuardrailRule } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import { type Caller, CurrentCaller, EVENT_BUS, ProblemException, Scopes } from '@agentlens/platform';
import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { sanitise } from '../sanitise.ts';

/** Rules as clients of the agent protocol bring and fetch them. */
@Controller('v1/rules')
export class RulesController {
  constructor(@Inject(EVENT_BUS) private readonly bus: EventBus) {}

  /** `{policy, rules}`; the owner of the rules reads it and answers the rules it made of it. */
  @Post()
  @RouteConfig({ checksKeys: true })
  @Scopes('admin')
  async importPolicy(
    @CurrentCaller() { tenantId }: Caller,
    @Body() body: unknown,
  ): Promise<{ policyId: string; rules: readonly GuardrailRule[] }> {
    const unsafe = sanitise(body);
    if (unsafe !== undefined) throw new ProblemException(400, 'Validation failed', { details: [unsafe] });
    const answer = await this.bus.request(COMMANDS.importPolicy, { tenantId, body: body ?? null });
    if (!answer.ok) throw ProblemException.from(answer.problem);
    return answer.value;
  }

  /** An agent without a bundle asks the server about every call. */
  @Get('bundle')
  @Scopes('decide')
  bundle(): never {
    throw new ProblemException(404, 'No rule bundle', {
      hint: 'This server offers no rules to be evaluated in the agent: ask POST /v1/runs/{runId}/evaluate.',
    });
  }
}
