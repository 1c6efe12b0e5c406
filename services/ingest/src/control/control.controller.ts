import { AcknowledgeBody, directiveAcknowledged } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import {
  acknowledgeDirective,
  createControlTicket,
  openControlStream,
  pollControl,
} from '@agentlens/operations/ingest';
import {
  bearerOf,
  type Caller,
  type Clock,
  ControlBoard,
  type ControlPosition,
  CurrentCaller,
  EVENT_STREAM_HEADERS,
  ProblemException,
  parseOr400,
  parsePosition,
  port,
  requireAgent,
  Serves,
  type StreamTicket,
  StreamTickets,
} from '@agentlens/platform';
import { Body, Controller, Inject, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readBody, readId } from '../http/read-body.ts';
import { type ConnectedInstance, type ConnectionSecret, ConnectionSecrets } from './connection-secrets.ts';
import { ControlChannel } from './control-channel.ts';
import type { ControlFrame } from './control-frames.ts';
import { type Listener, Listeners } from './listeners.ts';

const MAX_WAIT_MS = 25_000;

/** Delivers orders to agents and takes their acknowledgements. */
@Controller()
export class ProtocolControlController {
  constructor(
    @Inject(ControlChannel) private readonly channel: ControlChannel,
    @Inject(ControlBoard) private readonly board: ControlBoard,
    @Inject(Listeners) private readonly listeners: Listeners,
    @Inject(port('bus')) private readonly bus: EventBus,
    @Inject(ConnectionSecrets) private readonly secrets: ConnectionSecrets,
    @Inject(StreamTickets) private readonly tickets: StreamTickets,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(createControlTicket)
  ticket(@Req() request: FastifyRequest): StreamTicket {
    return this.tickets.ticketFor(request);
  }

  /** Server-sent events `directive`, `order`, `approval`, `rules`, `ready`, `heartbeat`; ids resume on any instance. */
  @Serves(openControlStream)
  async stream(
    @CurrentCaller() caller: Caller,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { agentId, instanceId, lastEventId, token } = parseOr400(openControlStream.query, query, 'query');
    requireAgent(caller, agentId, 'query.agentId');
    const last = request.headers['last-event-id'] ?? lastEventId;
    if (request.method === 'HEAD') {
      await reply.headers(EVENT_STREAM_HEADERS).send();
      return;
    }
    // An id of another stream is not an error: the client gets the full current state.
    const after = typeof last === 'string' ? (parsePosition(last) ?? undefined) : undefined;
    const key = bearerOf(request) ?? token ?? '';
    const { tenantId, keyId, agents } = caller;
    this.channel.open({ tenantId, keyId, agents, agentId, instanceId }, after, key, reply);
  }

  /** The same for clients that cannot hold a stream: waits up to `waitMs` for something newer than `after`. */
  @Serves(pollControl)
  async poll(
    @CurrentCaller() caller: Caller,
    @Query() query: unknown,
    @Req() request: FastifyRequest,
  ): Promise<{ readonly items: readonly ControlFrame[]; readonly next: string; connection?: ConnectionSecret }> {
    const { agentId, instanceId, after, waitMs } = parseOr400(pollControl.query, query, 'query');
    requireAgent(caller, agentId, 'query.agentId');
    const gone = new AbortController();
    request.raw.once('close', () => gone.abort());
    const { tenantId, keyId, agents } = caller;
    const listener = { tenantId, keyId, agents, agentId, instanceId };
    return this.channel.poll(listener, positionOr400(after), Math.min(waitMs, MAX_WAIT_MS), gone.signal);
  }

  /** Safe to repeat; answered when durable. Counts if the instance listens for the agent of the order. */
  @Serves(acknowledgeDirective, { checksKeys: true })
  async acknowledge(
    @CurrentCaller() caller: Caller,
    @Param('directiveId') directiveIdText: string,
    @Body() body: unknown,
  ): Promise<{ directiveId: string; acknowledged: true }> {
    const directiveId = readId('directiveId', directiveIdText);
    const { agentId, instanceId, signature } = readBody(AcknowledgeBody, body);
    requireAgent(caller, agentId);
    const { tenantId, keyId } = caller;
    await this.#requireListener({ tenantId, agentId, instanceId }, directiveId);
    const acknowledgedAt = new Date(this.clock.now()).toISOString();
    const acknowledged = { tenantId, directiveId, agentId, instanceId, acknowledgedAt };
    const signed = signature && this.#checkSignature({ ...acknowledged, keyId }, signature);
    await this.bus.publish(directiveAcknowledged, { ...acknowledged, ...(signed && { signature: signed }) });
    return { directiveId, acknowledged: true };
  }

  /** @throws ProblemException 403 */
  #checkSignature(
    { directiveId, ...instance }: ConnectedInstance & { readonly directiveId: string },
    { version, ...given }: NonNullable<AcknowledgeBody['signature']>,
  ) {
    const { agentId, instanceId } = instance;
    const checked = this.secrets.check(instance, { directiveId, agentId, instanceId, version }, given);
    if (checked !== undefined) return checked;
    throw new ProblemException(403, 'The signature does not belong to a connection of this instance', {
      code: 'bad_signature',
      hint: 'Sign with the secret of the newest event "connection" that this instance received with this key.',
    });
  }

  /** @throws ProblemException 404, 409 */
  async #requireListener(listener: Listener, directiveId: string): Promise<void> {
    const { tenantId, agentId } = listener;
    // An order that is unknown here may have been given a moment ago.
    if (this.board.isAbout(tenantId, directiveId, agentId) === false) {
      throw new ProblemException(404, 'No such order for this agent', {
        hint: 'Acknowledge the orders that the control stream of this agent sent.',
      });
    }
    if (await this.listeners.isPresent(listener)) return;
    throw new ProblemException(409, 'This instance does not listen for orders', {
      code: 'not_listening',
      hint: 'Open the control stream, or poll, with the same agentId and instanceId first.',
    });
  }
}

function positionOr400(text: string | undefined): ControlPosition | undefined {
  if (text === undefined || text === '') return undefined;
  const position = parsePosition(text);
  if (position !== null) return position;
  throw new ProblemException(400, 'Validation failed', {
    details: [
      { path: 'query.after', message: 'is not a position of this stream; send the last "next" you got, or none' },
    ],
  });
}
