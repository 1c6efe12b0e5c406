import { COMMANDS, mayDo, type Scope, type VoterRef } from '@agentlens/contracts';
import { globMatches } from '@agentlens/guardrails/names';
import type { EventBus } from '@agentlens/messaging';
import {
  acknowledgeAlert,
  approveAlert,
  cancelAlert,
  denyAlert,
  getAlert,
  getAlertCall,
  getAlertVotes,
  listAlerts,
  openAlertStream,
  type RequestOf,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, port, Serves } from '@agentlens/platform';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { LiveStreamService } from '../stream/live-stream.service.ts';
import type { LiveStream } from '../stream/live-stream.ts';
import { AlertFeed } from './alert-feed.ts';
import { AlertsQueries } from './alerts.queries.ts';

type Verb = 'acknowledge' | 'approve' | 'deny' | 'cancel';

@Controller()
export class AlertsController {
  constructor(
    private readonly alerts: AlertsQueries,
    private readonly names: KeyNames,
    private readonly commands: Commands,
    private readonly streams: LiveStreamService,
    @Inject(port('bus')) private readonly bus: EventBus,
  ) {}

  @Serves(listAlerts)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listAlerts>) {
    const { items, ...page } = await this.alerts.list(caller.tenantId, query);
    return { alerts: items, ...page };
  }

  @Serves(openAlertStream)
  async stream(
    @CurrentCaller() caller: Caller,
    @FromRequest() { query, headers }: RequestOf<typeof openAlertStream>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { token, ticket: _, lastEventId, ...filter } = query;
    const resume = headers['last-event-id'] ?? lastEventId;
    const { bus } = this;
    const { tenantId } = caller;
    const feedOf = ({ frames }: LiveStream) =>
      new AlertFeed({ bus, tenantId, filter, resume, emit: frames.push.bind(frames) });
    await this.streams.serve({ caller, request, reply, token, feedOf });
  }

  @Serves(getAlert)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getAlert>) {
    return foundOr404('Alert', await this.alerts.get(caller.tenantId, id));
  }

  @Serves(getAlertVotes)
  votes(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getAlertVotes>) {
    const { tenantId } = caller;
    return this.commands.forward(COMMANDS.readVotes, { tenantId, alertId: id, voter: voterFrom(caller) });
  }

  @Serves(getAlertCall, { allowsTeams: true })
  async call(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getAlertCall>) {
    const { tenantId } = caller;
    const alert = foundOr404('Alert', await this.alerts.get(tenantId, id));
    requireReview(caller, alert.agentId);
    const call = foundOr404('Call', await this.alerts.callOf(tenantId, id));
    const { toolName, argsHash } = foundOr404('Call', alert.approval);
    return { alertId: id, toolName, argsHash, ...call };
  }

  @Serves(acknowledgeAlert)
  acknowledge(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof acknowledgeAlert>) {
    return this.decide('acknowledge', caller, request);
  }

  @Serves(approveAlert, { allowsTeams: true })
  approve(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof approveAlert>) {
    return this.decide('approve', caller, request);
  }

  @Serves(denyAlert, { allowsTeams: true })
  deny(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof denyAlert>) {
    return this.decide('deny', caller, request);
  }

  @Serves(cancelAlert)
  cancel(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof cancelAlert>) {
    return this.decide('cancel', caller, request);
  }

  private async decide(verb: Verb, caller: Caller, { params, headers, body }: RequestOf<typeof approveAlert>) {
    refuseAgents(caller);
    const { id: alertId } = params;
    const { reason } = body;
    const { tenantId } = caller;
    const authorship = await this.names.authorOf(caller);
    const { callHash } = body;
    const question = {
      tenantId,
      alertId,
      verb,
      reason,
      callHash,
      voter: voterFrom(caller),
      ifVersion: headers['if-match'],
    };
    return this.commands.forward(COMMANDS.decideAlert, { ...question, ...authorship });
  }
}

/** What the key of a request says about a voter. Roles and teams are read when the vote is judged. */
function voterFrom({ keyId, scopes, signedIn }: Caller): VoterRef {
  const isAgent = reportsForAgents(scopes);
  if (signedIn === undefined) return { keyId, isAgent, via: 'api' };
  const { personId, via, credentialsAt, sessionId } = signedIn;
  return {
    keyId,
    personId,
    isAgent,
    via,
    signedInAt: credentialsAt,
    ...(sessionId === undefined ? {} : { sessionId }),
  };
}

/** @throws ProblemException 403 for an approver of a team that does not own the agent */
function requireReview({ scopes, signedIn }: Caller, agentId: string): void {
  if (mayDo(scopes, ['review'])) return;
  const patterns = signedIn?.forAgents.filter(({ scope }) => scope === 'review').flatMap(({ agents }) => agents) ?? [];
  if (patterns.some((glob) => globMatches(glob, agentId))) return;
  throw new ProblemException(403, 'You may not review calls of this agent', {
    hint: 'Ask an administrator for the role approver.',
  });
}

function reportsForAgents(scopes: readonly Scope[]): boolean {
  return !scopes.includes('admin') && scopes.some((scope) => scope === 'ingest' || scope === 'decide');
}

/**
 * Rejects keys that report for an agent: an agent must not decide its own approvals, regardless of the key's other
 * scopes.
 */
function refuseAgents({ scopes }: Caller): void {
  if (!reportsForAgents(scopes)) return;
  throw new ProblemException(403, 'Insufficient permissions', {
    hint: 'This key also reports for agents, which may not decide their own alerts. Use a key with "review" and without "ingest" and "decide".',
    extra: { required: ['review'], current: [...scopes] },
  });
}
