import {
  type Context,
  context,
  type Link,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

type Headers = Readonly<Record<string, string>>;

const getter = {
  get: (carrier: Headers, key: string) => carrier[key],
  keys: (carrier: Headers) => Object.keys(carrier),
};

/** Writes the caller's trace context (W3C `traceparent`, `tracestate`) as headers. */
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
 * Runs a handler in a CONSUMER span. One trace in the batch: the span continues it. Several: a span has only one
 * parent, so it starts a trace of its own and links to all of them.
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
