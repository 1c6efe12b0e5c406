import { AsyncLocalStorage } from 'node:async_hooks';
import { agentEvents } from '@agentlens/contracts';
import { createMemoryBus } from '@agentlens/messaging';
import { anEvent, fixedClock } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Context,
  type ContextManager,
  context,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  type TextMapPropagator,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { IngestMetrics } from '../ingest-metrics.ts';
import { BatchPublisher } from './batch-publisher.ts';
import { MessageCoalescer } from './message-coalescer.ts';

/** Propagates contexts like the SDK does, without the SDK. */
class AsyncContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active = () => this.#storage.getStore() ?? ROOT_CONTEXT;
  with: ContextManager['with'] = (active, run, self, ...args) => this.#storage.run(active, () => run.apply(self, args));
  bind: ContextManager['bind'] = (_context, target) => target;
  enable = () => this;
  disable = () => this;
}

const traceparent: TextMapPropagator = {
  inject: (active, carrier, setter) => {
    const span = trace.getSpanContext(active);
    if (span !== undefined) setter.set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-01`);
  },
  extract: (active) => active,
  fields: () => ['traceparent'],
};

function request(n: number): SpanContext {
  return { traceId: String(n).repeat(32), spanId: String(n).repeat(16), traceFlags: TraceFlags.SAMPLED };
}

describe('the trace of a message', () => {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncContexts());
    propagation.setGlobalPropagator(traceparent);
  });
  afterAll(() => {
    context.disable();
    propagation.disable();
  });

  it('continues the request that started it, even if the message is sent later', async () => {
    const clock = fixedClock();
    const bus = createMemoryBus();
    const parents: (string | undefined)[] = [];
    await bus.watch(agentEvents, { from: 'new' }, ({ headers }) => parents.push(headers.traceparent));
    const publisher = new BatchPublisher(bus, new IngestMetrics(), () => clock.now());
    const coalescer = new MessageCoalescer(publisher, () => clock.now());
    const tenants = ['acme', 'acme', 'globex'];
    const event = anEvent();
    const text = JSON.stringify(event);
    const safe = tenants.map((tenantId, index) =>
      context.with(trace.setSpanContext(ROOT_CONTEXT, request(index + 1)), () =>
        coalescer.add({
          tenantId,
          partition: '07',
          events: [event],
          texts: [text],
          bytes: Buffer.byteLength(`${text},`),
        }),
      ),
    );
    await Promise.all(safe);
    expect(parents).toEqual([1, 3].map((n) => `00-${request(n).traceId}-${request(n).spanId}-01`));
    await bus.close();
  });
});
