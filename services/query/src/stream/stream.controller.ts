import type { EventBus } from '@agentlens/messaging';
import {
  type Caller,
  CLOCK,
  type Clock,
  CurrentCaller,
  EVENT_BUS,
  KEY_DIRECTORY,
  type KeyDirectory,
  LOGGER,
  type Platform,
  parseOr400,
} from '@agentlens/platform';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Serves } from '../http/operation.ts';
import { SessionsQueries } from '../sessions/sessions.queries.ts';
import { LiveFeed } from './live-feed.ts';
import { LiveStream } from './live-stream.ts';
import { OpenStreams } from './open-streams.ts';
import { SessionUpdates } from './session-updates.ts';
import { openStream, type StreamFilter, StreamHeaders } from './stream.operations.ts';
import type { StreamPosition } from './stream-position.ts';

const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // Proxies of the nginx family would hold frames back to fill a buffer.
  'x-accel-buffering': 'no',
  // A stream ends when the server goes down or the key is gone: the connection must not stay behind, idle.
  connection: 'close',
};

@Controller()
export class StreamController {
  constructor(
    private readonly sessions: SessionsQueries,
    private readonly streams: OpenStreams,
    @Inject(EVENT_BUS) private readonly bus: EventBus,
    @Inject(KEY_DIRECTORY) private readonly keys: KeyDirectory,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Platform['logger'],
  ) {}

  @Serves(openStream)
  async open(
    @CurrentCaller() caller: Caller,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { token, lastEventId, ...filter } = parseOr400(openStream.query, request.query);
    const resume = parseOr400(StreamHeaders, request.headers)['last-event-id'] ?? lastEventId;
    if (request.method === 'HEAD') {
      // The router answers HEAD by the same method; nobody would read the frames.
      await reply.headers(SSE_HEADERS).send();
      return;
    }
    this.streams.makeRoomFor(caller.keyId);
    const stream = new LiveStream({
      keyId: caller.keyId,
      key: /^Bearer +(\S+)/i.exec(request.headers.authorization ?? '')?.[1] ?? token ?? '',
      keys: this.keys,
      clock: this.clock,
      onEnd: (ended) => this.streams.remove(ended),
    });
    this.streams.add(stream);
    const feed = this.feedOf(stream, caller.tenantId, filter, resume);
    try {
      await feed.open();
    } catch (error) {
      this.streams.remove(stream);
      await feed.close();
      throw error;
    }
    reply.hijack();
    stream.start(feed, reply.raw, SSE_HEADERS);
  }

  private feedOf(stream: LiveStream, tenantId: string, filter: StreamFilter, resume?: StreamPosition): LiveFeed {
    const updates = new SessionUpdates({
      read: (runIds) => this.sessions.byIds(tenantId, runIds),
      show: (session) => {
        if (filter.agentId !== undefined && session.agentId !== filter.agentId) return;
        stream.frames.push({ event: 'session_update', data: session });
      },
      sessionId: filter.sessionId,
      onError: (error) => this.logger.warn({ err: error }, 'a changed session could not be read for a stream'),
    });
    const emit = stream.frames.push.bind(stream.frames);
    return new LiveFeed({ bus: this.bus, tenantId, filter, resume, updates, emit });
  }
}
