import { ProblemException } from '@agentlens/platform';
import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { metrics } from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';

const MAX_STREAMS = 500;
const MAX_STREAMS_PER_KEY = 50;

interface OpenStream {
  readonly keyId: string;
  close(reason: string): Promise<void>;
}

/**
 * The open streams of this instance. Limits their number and ends them at shutdown, because the server waits for open
 * connections.
 */
@Injectable()
export class OpenStreams implements OnModuleInit, BeforeApplicationShutdown {
  readonly #streams = new Set<OpenStream>();

  readonly #gauge = metrics.getMeter('agentlens').createObservableGauge('agentlens.query.open_streams', {
    description: 'Live streams open on this instance',
  });

  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    this.#gauge.addCallback((result) => result.observe(this.#streams.size));
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    server.addHook('preClose', () => this.beforeApplicationShutdown());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#streams].map((stream) => stream.close('The server is going down; reconnect')));
  }

  /** @throws ProblemException 429 if this key, or 503 if this instance, has too many open streams */
  makeRoomFor(keyId: string): void {
    const ofKey = [...this.#streams].filter((stream) => stream.keyId === keyId).length;
    if (ofKey >= MAX_STREAMS_PER_KEY) {
      throw new ProblemException(429, 'Too many streams', {
        hint: `This key has ${MAX_STREAMS_PER_KEY} streams open: close some, or share one.`,
        headers: { 'retry-after': '30' },
      });
    }
    if (this.#streams.size < MAX_STREAMS) return;
    throw new ProblemException(503, 'Too many streams are open', { headers: { 'retry-after': '30' } });
  }

  add(stream: OpenStream): void {
    this.#streams.add(stream);
  }

  remove(stream: OpenStream): void {
    this.#streams.delete(stream);
  }
}
