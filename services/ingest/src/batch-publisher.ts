import { setTimeout as pause } from 'node:timers/promises';
import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { BusUnavailable, type EventBus, observeQueue } from '@agentlens/messaging';
import { type Link, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { IngestMetrics } from './ingest-metrics.ts';

const MOST_IN_FLIGHT = 256;
const MOST_BYTES_IN_FLIGHT = 64 * 1024 * 1024;
const ATTEMPTS = 2;
const MOST_PAUSE_MS = 250;
/** A broker that asks for more patience (its stream is full) will not have changed its mind by the second attempt. */
const LONGEST_BLIP_MS = 1_000;

export interface PublishOptions {
  /** The batch as JSON in UTF-8. */
  readonly body: Uint8Array;
  /** Spans of the other requests whose events the batch holds; the first one's is the active context. */
  readonly links?: readonly Link[];
}

/** Publishes batches and knows how many are on their way. A retry carries the same message id. */
export class BatchPublisher {
  readonly #tracer = trace.getTracer('@agentlens/ingest');
  /** What is on its way, oldest first, with when it set out. */
  readonly #running = new Map<Promise<void>, number>();
  #bytes = 0;

  constructor(
    private readonly bus: EventBus,
    private readonly metrics: IngestMetrics,
    private readonly now: () => number,
    private readonly wait: (ms: number) => Promise<unknown> = (ms) => pause(ms),
  ) {
    observeQueue({ name: 'batches_on_their_way', capacity: MOST_IN_FLIGHT, size: () => this.#running.size });
    observeQueue({ name: 'bytes_on_their_way', capacity: MOST_BYTES_IN_FLIGHT, size: () => this.#bytes });
  }

  /** More than this on the way means that the broker is slower than the clients: taking more would only queue it. */
  get saturated(): boolean {
    return this.#running.size >= MOST_IN_FLIGHT || this.#bytes >= MOST_BYTES_IN_FLIGHT;
  }

  /** How long the oldest message is on its way, ms: what readiness goes by. */
  get oldestMs(): number {
    const [since] = this.#running.values();
    return since === undefined ? 0 : this.now() - since;
  }

  /** Resolves when the batch is safe. @throws BusUnavailable */
  publish(batch: EventBatch, { body, links = [] }: PublishOptions): Promise<void> {
    this.#bytes += body.byteLength;
    const attributes = { 'messaging.batch.message_count': batch.events.length, 'agentlens.tenant': batch.tenantId };
    const running = this.#tracer.startActiveSpan(
      'events publish',
      { kind: SpanKind.INTERNAL, attributes, links: [...links] },
      (span) => this.#traced(batch, body, span),
    );
    this.#running.set(running, this.now());
    const leave = () => {
      this.#running.delete(running);
      this.#bytes -= body.byteLength;
    };
    running.then(leave, leave);
    this.metrics.published(batch.events.length);
    return running;
  }

  /** Waits for what is on its way, whatever becomes of it. */
  async drain(): Promise<void> {
    await Promise.allSettled(this.#running.keys());
  }

  async #traced(batch: EventBatch, body: Uint8Array, span: Span): Promise<void> {
    try {
      await this.#attempt(batch, body);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) });
      throw error;
    } finally {
      span.end();
    }
  }

  async #attempt(batch: EventBatch, body: Uint8Array): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.bus.publish(agentEvents, batch, { body });
        return;
      } catch (error) {
        if (!(error instanceof BusUnavailable) || attempt >= ATTEMPTS || error.afterMs > LONGEST_BLIP_MS) throw error;
        await this.wait(Math.min(error.afterMs, MOST_PAUSE_MS));
      }
    }
  }
}
