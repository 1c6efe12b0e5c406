import { BusUnavailable } from '@agentlens/messaging';
import { type Caller, CLOCK, type Clock, CurrentCaller, ProblemException, QUOTA, Scopes } from '@agentlens/platform';
import { type Quota, StateUnavailable } from '@agentlens/state';
import { Body, Controller, Inject, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AllTaken, allTaken, refusals, refusedWhole, type SomeTaken, someTaken, taken } from './answers.ts';
import { EventGate } from './event-gate.ts';
import { eventsOf, idempotencyKeyOf, isPartial } from './events-request.ts';
import { IngestMetrics } from './ingest-metrics.ts';
import { EventIntake, type Verdict } from './intake.ts';
import { rateLimitFields, tooMany } from './rate-limit.ts';

/** The agent protocol's way in: events of the AgentLens vocabulary. */
@Controller('api/events')
export class EventsController {
  constructor(
    @Inject(EventIntake) private readonly intake: EventIntake,
    @Inject(EventGate) private readonly gate: EventGate,
    @Inject(IngestMetrics) private readonly metrics: IngestMetrics,
    @Inject(QUOTA) private readonly quota: Quota,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  @RouteConfig({ checksKeys: true })
  @Scopes('ingest')
  async take(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Query('partial') partialFlag: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AllTaken | SomeTaken> {
    const partial = isPartial(partialFlag);
    const key = idempotencyKeyOf(request.headers['idempotency-key']);
    const events = eventsOf(body);
    await this.#admit(caller, events.length, reply);
    const verdicts = await this.#taken(caller.tenantId, events, key, partial);
    void reply.status(partial ? 207 : 201);
    return partial ? someTaken(verdicts) : allTaken(verdicts);
  }

  /** This key's quota first, so that one loud client meets its own limit before the platform's. */
  async #admit(caller: Caller, cost: number, reply: FastifyReply): Promise<void> {
    const answer = await this.quota.take(caller.keyId, cost, caller.eventsPerSecond, this.clock.now());
    void reply.headers(rateLimitFields(answer));
    if (!answer.allowed) {
      this.metrics.turnedAway('quota');
      throw tooMany(answer);
    }
    if (this.gate.saturated) {
      this.metrics.turnedAway('saturated');
      throw unavailable('The platform takes no more events just now', 1_000);
    }
  }

  async #taken(
    tenantId: string,
    events: readonly unknown[],
    key: string | undefined,
    partial: boolean,
  ): Promise<readonly Verdict[]> {
    try {
      const intake = await this.intake.judge({ tenantId, events, key, nowMs: this.clock.now() });
      if (intake.kind === 'key_reused') throw this.#keyReused();
      for (const { reason } of refusals(intake.verdicts)) this.metrics.refused(reason);
      const good = taken(intake.verdicts);
      if (!partial && good.length < events.length) throw refusedWhole(intake.verdicts);
      const fresh = good.filter(({ repeated }) => !repeated);
      await this.gate.pass(intake.arrival, fresh);
      const unpriced = fresh.filter(({ event }) => event.usage?.costSource === 'unpriced').length;
      this.metrics.accepted(fresh.length, unpriced);
      return intake.verdicts;
    } catch (error) {
      throw this.#awayOr(error);
    }
  }

  #keyReused(): ProblemException {
    this.metrics.turnedAway('key_reused');
    return new ProblemException(422, 'Idempotency-Key reused', {
      details: [{ path: 'headers.idempotency-key', message: 'was used before with another body' }],
      hint: 'Send a new batch under a new key; repeat a key only with the very same events.',
    });
  }

  #awayOr(error: unknown): unknown {
    const afterMs = error instanceof BusUnavailable ? error.afterMs : error instanceof StateUnavailable ? 1_000 : null;
    if (afterMs === null) return error;
    this.metrics.turnedAway('unavailable');
    return unavailable('The platform cannot keep events now', afterMs);
  }
}

function unavailable(error: string, afterMs: number): ProblemException {
  const seconds = Math.max(1, Math.ceil(afterMs / 1000));
  return new ProblemException(503, error, {
    hint: `Send the same request again in ${seconds} s; with event ids or an Idempotency-Key nothing is counted twice.`,
    headers: { 'retry-after': String(seconds) },
  });
}
