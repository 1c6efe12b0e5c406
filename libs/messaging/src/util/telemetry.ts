import {
  type BatchObservableCallback,
  type Context,
  context,
  type Link,
  metrics,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { ConsumerLag } from '../event-bus.ts';

/** Counters and gauges of one bus. The labels, topic and group, have bounded cardinality. */
export class BusMetrics {
  private readonly meter = metrics.getMeter('@agentlens/messaging');
  private readonly publishes = this.meter.createCounter('agentlens.bus.published', {
    description: 'Messages accepted by the bus. Duplicates were already stored.',
  });
  private readonly refusals = this.meter.createCounter('agentlens.bus.refused', {
    description: 'Publishes that failed with BusUnavailable.',
  });
  private readonly deliveries = this.meter.createCounter('agentlens.bus.delivered', {
    description: 'Messages passed to a handler, including redeliveries.',
  });
  private readonly retries = this.meter.createCounter('agentlens.bus.retried', {
    description: 'Messages that a handler asked to retry or threw on.',
  });
  private readonly burials = this.meter.createCounter('agentlens.bus.dead_lettered', {
    description: 'Messages stored as dead letters.',
  });
  private readonly lag = this.meter.createObservableGauge('agentlens.bus.consumer.lag', {
    description: 'Messages that a group has not settled.',
    unit: '{message}',
  });
  private readonly age = this.meter.createObservableGauge('agentlens.bus.consumer.oldest_age', {
    description: 'Age of the oldest message that a group has not settled.',
    unit: 'ms',
  });
  private readonly observed = new Map<string, { sharers: number; readonly stop: () => void }>();

  published(topic: string, duplicate: boolean): void {
    this.publishes.add(1, { topic, duplicate });
  }

  refused(topic: string): void {
    this.refusals.add(1, { topic });
  }

  delivered(topic: string, group: string, count: number): void {
    this.deliveries.add(count, { topic, group });
  }

  retried(topic: string, group: string): void {
    this.retries.add(1, { topic, group });
  }

  deadLettered(topic: string, group: string): void {
    this.burials.add(1, { topic, group });
  }

  /** Reports a group's lag until the returned function is called. Replicas on one bus share the gauge. */
  observeLag(topic: string, group: string, read: () => Promise<ConsumerLag>): () => void {
    const key = `${topic}\n${group}`;
    const gauge = this.observed.get(key) ?? { sharers: 0, stop: this.startObserving(topic, group, read) };
    gauge.sharers += 1;
    this.observed.set(key, gauge);
    return () => {
      gauge.sharers -= 1;
      if (gauge.sharers > 0) return;
      gauge.stop();
      this.observed.delete(key);
    };
  }

  /** Stops reporting lag. */
  close(): void {
    for (const { stop } of this.observed.values()) stop();
    this.observed.clear();
  }

  private startObserving(topic: string, group: string, read: () => Promise<ConsumerLag>): () => void {
    const gauges = [this.lag, this.age];
    const observe: BatchObservableCallback = async (result) => {
      const now = await read().catch(() => undefined);
      if (!now) return;
      result.observe(this.lag, now.pending + now.unacknowledged, { topic, group });
      result.observe(this.age, now.oldestAgeMs, { topic, group });
    };
    this.meter.addBatchObservableCallback(observe, gauges);
    return () => this.meter.removeBatchObservableCallback(observe, gauges);
  }
}

type Headers = Readonly<Record<string, string>>;

const getter = {
  get: (carrier: Headers, key: string) => carrier[key],
  keys: (carrier: Headers) => Object.keys(carrier),
};

/** Writes the current trace context (W3C `traceparent`, `tracestate`) to headers. */
export function injectTrace<C>(carrier: C, set: (carrier: C, key: string, value: string) => void): void {
  propagation.inject(context.active(), carrier, { set });
}

export function extractTrace(headers: Headers): Context {
  return propagation.extract(ROOT_CONTEXT, headers, getter);
}

interface ConsumerWork {
  readonly system: 'nats' | 'memory';
  readonly topic: string;
  readonly group: string;
}

/**
 * Runs a handler in a CONSUMER span. If all messages belong to one trace, the span continues it. Otherwise the span
 * starts a new trace and links to all of them, because a span has only one parent.
 */
export async function inConsumerSpan<R>(
  work: ConsumerWork,
  headers: readonly Headers[],
  run: () => Promise<R>,
): Promise<R> {
  const parents = headers.map(extractTrace);
  const links: Link[] = [];
  for (const parent of parents) {
    const spanContext = trace.getSpanContext(parent);
    if (spanContext) links.push({ context: spanContext });
  }
  const sameTrace = links.length === headers.length && new Set(links.map((link) => link.context.traceId)).size === 1;
  const parent = (sameTrace ? parents[0] : undefined) ?? ROOT_CONTEXT;
  const attributes = {
    'messaging.system': work.system,
    'messaging.operation.type': 'process',
    'messaging.destination.name': work.topic,
    'messaging.consumer.group.name': work.group,
    'messaging.batch.message_count': headers.length,
  };
  const options = { kind: SpanKind.CONSUMER, attributes, links: sameTrace ? links.slice(1) : links };
  return trace
    .getTracer('@agentlens/messaging')
    .startActiveSpan(`process ${work.topic}`, options, parent, async (span) => {
      try {
        return await run();
      } catch (error) {
        span.recordException(error instanceof Error ? error : String(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    });
}

/** A bounded queue inside the process. */
interface BoundedQueue {
  /** Value of the `queue` label: snake_case, with the unit, from a closed set. */
  readonly name: string;
  readonly capacity: number;
  readonly size: () => number;
}

/** Reports the size and the capacity of a queue until the returned function is called. */
export function observeQueue({ name: queue, capacity, size }: BoundedQueue): () => void {
  const meter = metrics.getMeter('@agentlens/messaging');
  const sizes = meter.createObservableGauge('agentlens.queue.size', {
    description: 'Items waiting in a queue of this process',
  });
  const capacities = meter.createObservableGauge('agentlens.queue.capacity', {
    description:
      'Capacity of a queue of this process; beyond it, items are rejected, dropped and counted, or left at their source',
  });
  const observe = [
    [sizes, size],
    [capacities, () => capacity],
  ] as const;
  const callbacks = observe.map(([gauge, read]) => {
    const callback: Parameters<typeof gauge.addCallback>[0] = (result) => result.observe(read(), { queue });
    gauge.addCallback(callback);
    return () => gauge.removeCallback(callback);
  });
  return () => {
    for (const stop of callbacks) stop();
  };
}
