import { mayDo } from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import {
  createStreamTicket,
  listAudit,
  openStream,
  type RequestOf,
  type StreamFilter,
  type StreamPosition,
} from '@agentlens/operations';
import {
  type Caller,
  CurrentCaller,
  FromRequest,
  type Platform,
  ProblemException,
  port,
  Serves,
  type StreamTicket,
  StreamTickets,
} from '@agentlens/platform';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SessionsQueries } from '../sessions/sessions.controller.ts';
import { LiveFeed } from './live-feed.ts';
import { LiveStreamService, StreamMetrics } from './live-stream.service.ts';
import type { LiveStream } from './live-stream.ts';
import { RecordFeed } from './record-feed.ts';
import { SessionUpdates } from './session-updates.ts';

@Controller()
export class StreamController {
  constructor(
    private readonly sessions: SessionsQueries,
    private readonly streams: LiveStreamService,
    private readonly metrics: StreamMetrics,
    private readonly tickets: StreamTickets,
    private readonly record: RecordFeed,
    @Inject(port('bus')) private readonly bus: EventBus,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  @Serves(createStreamTicket)
  ticket(@Req() request: FastifyRequest): StreamTicket {
    return this.tickets.ticketFor(request);
  }

  @Serves(openStream)
  async open(
    @CurrentCaller() caller: Caller,
    @FromRequest() { query, headers }: RequestOf<typeof openStream>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { token, ticket: _, lastEventId, ...filter } = query;
    const resume = headers['last-event-id'] ?? lastEventId;
    const { tenantId, scopes } = caller;
    if (filter.kinds?.includes('audit') && !mayDo(scopes, listAudit.scope)) {
      throw new ProblemException(403, 'Frames of the kind "audit" need the scope "admin"', {
        hint: 'Leave "audit" out of "kinds", or open the stream with an admin key.',
        extra: { required: listAudit.scope },
      });
    }
    const feedOf = (stream: LiveStream) => this.feedOf(stream, tenantId, filter, resume);
    await this.streams.serve({ caller, request, reply, token, feedOf });
  }

  private feedOf(stream: LiveStream, tenantId: string, filter: StreamFilter, resume?: StreamPosition): LiveFeed {
    const updates = new SessionUpdates({
      read: (runIds) => this.sessions.byIds(tenantId, runIds),
      show: (session) => {
        if (filter.agentId !== undefined && session.agentId !== filter.agentId) return;
        stream.frames.push({ event: 'session_update', data: session });
      },
      sessionId: filter.sessionId,
      onError: (error) => this.logger.warn({ err: error }, 'reading a changed session for a stream failed'),
      onDropped: (what, count) => this.metrics.dropped(what, count),
    });
    const emit = stream.frames.push.bind(stream.frames);
    return new LiveFeed({ bus: this.bus, tenantId, filter, resume, updates, record: this.record, emit });
  }
}
