import { COMMANDS } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import {
  AlertStreamHeaders,
  acknowledgeAlert,
  approveAlert,
  cancelAlert,
  denyAlert,
  getAlert,
  listAlerts,
  openAlertStream,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, EVENT_BUS, ProblemException, parseOr400, Serves } from '@agentlens/platform';
import { Body, Controller, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';
import { KeyNames } from '../keys/key-names.ts';
import type { LiveStream } from '../stream/live-stream.ts';
import { StreamDesk } from '../stream/stream-desk.ts';
import { AlertFeed } from './alert-feed.ts';
import { AlertsQueries } from './alerts.queries.ts';

type Verb = 'acknowledge' | 'approve' | 'deny' | 'cancel';

@Controller()
export class AlertsController {
  constructor(
    private readonly alerts: AlertsQueries,
    private readonly names: KeyNames,
    private readonly commands: Commands,
    private readonly desk: StreamDesk,
    @Inject(EVENT_BUS) private readonly bus: EventBus,
  ) {}

  @Serves(listAlerts)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.alerts.list(caller.tenantId, parseOr400(listAlerts.query, query));
    return { alerts: items, ...page };
  }

  @Serves(openAlertStream)
  async stream(
    @CurrentCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { token, lastEventId, ...filter } = parseOr400(openAlertStream.query, request.query);
    const resume = parseOr400(AlertStreamHeaders, request.headers)['last-event-id'] ?? lastEventId;
    const { bus } = this;
    const { tenantId } = caller;
    const feedOf = ({ frames }: LiveStream) =>
      new AlertFeed({ bus, tenantId, filter, resume, emit: frames.push.bind(frames) });
    await this.desk.serve({ caller, request, reply, token, feedOf });
  }

  @Serves(getAlert)
  async get(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id } = parseOr400(getAlert.params, params);
    return foundOr404('Alert', await this.alerts.get(caller.tenantId, id));
  }

  @Serves(acknowledgeAlert)
  acknowledge(@CurrentCaller() caller: Caller, @Param() params: unknown, @Body() body: unknown) {
    return this.decide('acknowledge', caller, params, body);
  }

  @Serves(approveAlert)
  approve(@CurrentCaller() caller: Caller, @Param() params: unknown, @Body() body: unknown) {
    return this.decide('approve', caller, params, body);
  }

  @Serves(denyAlert)
  deny(@CurrentCaller() caller: Caller, @Param() params: unknown, @Body() body: unknown) {
    return this.decide('deny', caller, params, body);
  }

  @Serves(cancelAlert)
  cancel(@CurrentCaller() caller: Caller, @Param() params: unknown, @Body() body: unknown) {
    return this.decide('cancel', caller, params, body);
  }

  private async decide(verb: Verb, caller: Caller, params: unknown, body: unknown) {
    refuseAgents(caller);
    const { id: alertId } = parseOr400(approveAlert.params, params);
    const { reason } = parseOr400(approveAlert.body, body ?? undefined);
    const { tenantId } = caller;
    const by = await this.names.of(caller);
    return this.commands.forward(COMMANDS.decideAlert, { tenantId, alertId, verb, by, reason });
  }
}

/** A key that speaks for an agent must not answer what the agent was asked, whatever else it may. */
function refuseAgents({ scopes }: Caller): void {
  if (scopes.includes('admin') || !scopes.some((scope) => scope === 'ingest' || scope === 'decide')) return;
  throw new ProblemException(403, 'Insufficient permissions', {
    hint: 'This key also reports for agents, which may not decide their own alerts: use one with "review" and without "ingest" and "decide".',
    extra: { required: ['review'], current: [...scopes] },
  });
}
