import { setTimeout as pause } from 'node:timers/promises';
import { agentEvents } from '@agentlens/contracts';
import { BusUnavailable, type EncodedMessage, type EventBus, InFlight, observeQueue } from '@agentlens/messaging';
import { type Link, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { IngestMetrics } from '../ingest-metrics.ts';
import type { OutgoingBatch } from './messages.ts';

const MAX_IN_FLIGHT = 256;
const MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024;
const ATTEMPTS = 2;
const MAX_PAUSE_MS = 250;
/** If the broker asks for a longer wait (its stream is full), a second attempt would fail too. */
const MAX_BLIP_MS = 1_000;

/** Publishes batches and tracks how many are in flight. A retry has the same message id. */
export class BatchPublisher {
  readonly #tracer = trace.getTracer('@agentlens/ingest');
  /** Messages in flight, oldest first, with their start time. */
  readonly #running = new InFlight<{ readonly safe: Promise<void>; readonly sinceMs: number }>();
  #bytes = 0;

  constructor(
    private readonly bus: EventBus,
    private readonly metrics: IngestMetrics,
    private readonly now: () => number,
    private readonly wait: (ms: number) => Promise<unknown> = (ms) => pause(ms),
  ) {
    observeQueue({ name: 'batches_on_their_way', capacity: MAX_IN_FLIGHT, size: () => this.#running.size });
    observeQueue({ name: 'bytes_on_their_way', capacity: MAX_BYTES_IN_FLIGHT, size: () => this.#bytes });
  }

  /** If more than this is in flight, the broker is slower than the clients, and accepting more would only queue it. */
  get saturated(): boolean {
    return this.#running.size >= MAX_IN_FLIGHT || this.#bytes >= MAX_BYTES_IN_FLIGHT;
  }

  /** How long the oldest message has been in flight, in milliseconds. Used by readiness. */
  get oldestMs(): number {
    const { oldest } = this.#running;
    return oldest === undefined ? 0 : this.now() - oldest.sinceMs;
  }

  /**
   * Resolves when the batch is safe.
   *
   * @param links spans of the other requests whose events the batch holds; that of the first is the active context
   * @throws BusUnavailable
   */
  publish({ tenantId, events, message }: OutgoingBatch, links: readonly Link[] = []): Promise<void> {
    const bytes = message.body.byteLength;
    this.#bytes += bytes;
    const attributes = { 'messaging.batch.message_count': events, 'agentlens.tenant': tenantId };
    const safe = this.#tracer.startActiveSpan(
      'events publish',
      { kind: SpanKind.INTERNAL, attributes, links: [...links] },
      (span) => this.#traced(message, span),
    );
    const place = this.#running.add({ safe, sinceMs: this.now() });
    const leave = () => {
      this.#running.delete(place);
      this.#bytes -= bytes;
    };
    safe.then(leave, leave);
    this.metrics.published(events);
    return safe;
  }

  /** Waits for the messages in flight, whether they succeed or fail. */
  async drain(): Promise<void> {
    await Promise.allSettled(Array.from(this.#running, ({ safe }) => safe));
  }

  async #traced(message: EncodedMessage, span: Span): Promise<void> {
    try {
      await this.#attempt(message);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.message : String(error) });
      throw error;
    } finally {
      span.end();
    }
  }

  async #attempt(message: EncodedMessage): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.bus.publishEncoded(agentEvents, message);
        return;
      } catch (error) {
        if (!(error instanceof BusUnavailable) || attempt >= ATTEMPTS || error.afterMs > MAX_BLIP_MS) throw error;
        await this.wait(Math.min(error.afterMs, MAX_PAUSE_MS));
      }
    }
  }
}
