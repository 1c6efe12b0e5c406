import {
  bearerOf,
  browserSessionOf,
  type Caller,
  type Clock,
  EVENT_STREAM_HEADERS,
  type KeyDirectory,
  port,
} from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { metrics } from '@opentelemetry/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FrameRoom } from './frame-queue.ts';
import { type Feed, LiveStream } from './live-stream.ts';
import { OpenStreams } from './open-streams.ts';

/**
 * What a live stream did not show: a frame that the client was too slow for, a changed session beyond the limit, or a
 * session that could not be read.
 */
type Unshown = 'slow_reader_frame' | 'session_change' | 'unread_session';

/**
 * Counts what live streams leave out. The client learns about dropped frames; a session is shown at its next change.
 */
@Injectable()
export class StreamMetrics {
  readonly #dropped = metrics.getMeter('agentlens').createCounter('agentlens.query.dropped', {
    description: 'Items that live streams left out, by kind',
  });

  dropped(what: Unshown, count: number): void {
    this.#dropped.add(count, { what });
  }
}

interface StreamRequest {
  readonly caller: Caller;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** The key, if it was sent as a query parameter. */
  readonly token: string | undefined;
  readonly feedOf: (stream: LiveStream) => Feed & { open(): Promise<void> };
}

/** Turns a request into a live stream of a feed. */
@Injectable()
export class LiveStreamService {
  readonly #room = new FrameRoom();

  constructor(
    private readonly streams: OpenStreams,
    private readonly metrics: StreamMetrics,
    @Inject(port('keys')) private readonly keys: KeyDirectory,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async serve({ caller, request, reply, token, feedOf }: StreamRequest): Promise<void> {
    if (request.method === 'HEAD') {
      // The router calls this method for HEAD too, which has no body.
      await reply.headers(EVENT_STREAM_HEADERS).send();
      return;
    }
    this.streams.makeRoomFor(caller.keyId);
    const stream = new LiveStream({
      keyId: caller.keyId,
      key: bearerOf(request) ?? token ?? '',
      session: browserSessionOf(request),
      keys: this.keys,
      clock: this.clock,
      room: this.#room.forKey(caller.keyId),
      onEnd: (ended) => this.streams.remove(ended),
      onDropped: () => this.metrics.dropped('slow_reader_frame', 1),
    });
    this.streams.add(stream);
    const feed = feedOf(stream);
    try {
      await feed.open();
    } catch (error) {
      this.streams.remove(stream);
      stream.frames.close();
      await feed.close();
      throw error;
    }
    reply.hijack();
    stream.start(feed, reply.raw);
  }
}
