import { agentEvents, guardrailTriggered } from '@agentlens/contracts';
import { aBatch, aTrigger, eventually } from '@agentlens/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  context,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { gate } from '../contract/harness.contract.ts';
import { ACK, type EventBus } from '../event-bus.ts';
import { createMemoryBus } from '../memory/memory-bus.ts';

const spans = new InMemorySpanExporter();
const reader = new PeriodicExportingMetricReader({
  exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
  exportIntervalMillis: 3_600_000,
});
const meters = new MeterProvider({ readers: [reader] });

function spanContext(traceId: string): SpanContext {
  return { traceId: traceId.repeat(32), spanId: traceId.repeat(16), traceFlags: TraceFlags.SAMPLED };
}

function inTrace<R>(traceId: string, run: () => Promise<R>): Promise<R> {
  return context.with(trace.setSpanContext(ROOT_CONTEXT, spanContext(traceId)), run);
}

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }));
  metrics.setGlobalMeterProvider(meters);
});

afterAll(async () => {
  await meters.shutdown();
  for (const api of [context, propagation, trace, metrics]) api.disable();
});

describe('traces', () => {
  let bus: EventBus;
  beforeEach(() => {
    spans.reset();
    bus = createMemoryBus();
  });

  it('propagate to the handler and to messages that it publishes', async () => {
    const seen: string[] = [];
    await bus.consume(agentEvents, { group: 'evaluator' }, async (messages) => {
      await bus.publish(guardrailTriggered, aTrigger());
      return messages.map(() => ACK);
    });
    await bus.consume(guardrailTriggered, { group: 'dispatcher' }, async (messages) => {
      for (const message of messages) seen.push(message.headers.traceparent ?? 'none');
      return messages.map(() => ACK);
    });
    await inTrace('a', () => bus.publish(agentEvents, aBatch()));
    await eventually(() => expect(spans.getFinishedSpans()).toHaveLength(2));
    const evaluation = spans.getFinishedSpans().find((span) => span.name === 'process agent.events');
    expect(evaluation?.kind).toBe(SpanKind.CONSUMER);
    expect(evaluation?.parentSpanContext?.spanId).toBe('a'.repeat(16));
    expect(evaluation?.attributes['messaging.consumer.group.name']).toBe('evaluator');
    expect(seen).toEqual([`00-${'a'.repeat(32)}-${evaluation?.spanContext().spanId}-01`]);
    await bus.close();
  });

  it('are linked instead of continued if a batch contains several traces', async () => {
    const release = gate();
    await bus.consume(agentEvents, { group: 'evaluator', maxBatch: 10 }, async (messages) => {
      await release.opened;
      return messages.map(() => ACK);
    });
    const first = inTrace('a', () => bus.publish(agentEvents, aBatch()));
    await eventually(async () => expect((await bus.lag(agentEvents, 'evaluator')).pending).toBe(0));
    const others = [
      inTrace('b', () => bus.publish(agentEvents, aBatch())),
      inTrace('c', () => bus.publish(agentEvents, aBatch())),
    ];
    release.open();
    await Promise.all([first, ...others]);
    await eventually(() => expect(spans.getFinishedSpans()).toHaveLength(2));
    const mixed = spans.getFinishedSpans().find((span) => span.attributes['messaging.batch.message_count'] === 2);
    expect(mixed?.parentSpanContext).toBeUndefined();
    expect(mixed?.links.map((link) => link.context.traceId)).toEqual(['b'.repeat(32), 'c'.repeat(32)]);
    await bus.close();
  });
});

describe('metrics', () => {
  async function collected(): Promise<Record<string, { value: unknown; attributes: object }[]>> {
    const { resourceMetrics } = await reader.collect();
    const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return Object.fromEntries(
      all.map((metric) => [
        metric.descriptor.name,
        metric.dataPoints.map(({ value, attributes }) => ({ value, attributes })),
      ]),
    );
  }

  it('count published, delivered, retried and dead-lettered messages, and report the lag of each group', async () => {
    const bus = createMemoryBus({ backOffMs: [1] });
    const release = gate();
    // Counters accumulate across tests, so this test uses its own topic name.
    const measured = { ...guardrailTriggered, name: 'measured' };
    const topic = measured.name;
    await bus.consume(measured, { group: 'measured' }, async (messages) => {
      await release.opened;
      const [message] = messages;
      return [
        message?.attempt === 1 ? { kind: 'retry', afterMs: 1, reason: 'once' } : { kind: 'poison', reason: 'never' },
      ];
    });
    const trigger = aTrigger();
    const sent = [bus.publish(measured, trigger), bus.publish(measured, trigger)];
    await eventually(async () => {
      const gauges = await collected();
      expect(gauges['agentlens.bus.consumer.lag']).toContainEqual({
        value: 1,
        attributes: { topic, group: 'measured' },
      });
      expect(gauges['agentlens.bus.consumer.oldest_age']).toHaveLength(1);
    });
    release.open();
    await Promise.all(sent);
    const group = { topic, group: 'measured' };
    const counters = await collected();
    expect(counters['agentlens.bus.published']).toContainEqual({ value: 1, attributes: { topic, duplicate: false } });
    expect(counters['agentlens.bus.published']).toContainEqual({ value: 1, attributes: { topic, duplicate: true } });
    expect(counters['agentlens.bus.delivered']).toContainEqual({ value: 2, attributes: group });
    expect(counters['agentlens.bus.retried']).toContainEqual({ value: 1, attributes: group });
    await eventually(async () =>
      expect((await collected())['agentlens.bus.dead_lettered']).toContainEqual({ value: 1, attributes: group }),
    );
    await bus.close();
  });
});
