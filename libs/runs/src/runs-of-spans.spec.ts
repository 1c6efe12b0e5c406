import type { AgentEvent, PriceBook } from '@agentlens/contracts';
import { isOfAgent, type OtlpSpan, readSpan, translateSpan } from '@agentlens/otlp';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ledgerOf } from './ledger.ts';
import { statusOf } from './run.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
const PRICES: PriceBook = {
  providerOf: () => undefined,
  quote: ({ usage }) => ({ costUsd: (usage.totalTokens ?? 0) / 1e6, priceRef: 'table@test' }),
};

const anyAttributes = fc.oneof(
  fc.record({
    'gen_ai.operation.name': fc.constantFrom('chat', 'execute_tool', 'invoke_agent', 'create_agent', 'plan'),
    'gen_ai.agent.name': fc.constantFrom(undefined, 'shopper'),
    'gen_ai.usage.input_tokens': fc.constantFrom(undefined, 10, 20),
    'gen_ai.tool.name': fc.constantFrom(undefined, 'search'),
  }),
  fc.record({ 'openinference.span.kind': fc.constantFrom('LLM', 'TOOL', 'AGENT', 'CHAIN') }),
  fc.constant({ 'http.request.method': 'GET' }),
);

/** A trace as a tree: the parent of each span is an earlier one or missing. */
const anyTraces = fc
  .array(
    fc.record({
      trace: fc.nat({ max: 1 }),
      attributes: anyAttributes,
      parent: fc.nat({ max: 5 }),
      startMs: fc.nat({ max: 10_000 }),
      lastsMs: fc.nat({ max: 1_000 }),
      failed: fc.boolean(),
      user: fc.constantFrom(undefined, 'ann'),
      links: fc.constantFrom<string[]>([], ['f'.repeat(32)]),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((spans) =>
    spans.map(({ trace, attributes, parent, startMs, lastsMs, failed, user, links }, index): OtlpSpan => {
      const known = Object.entries({ ...attributes, 'user.id': user }).filter(([, value]) => value !== undefined);
      return {
        traceId: String(trace + 1).repeat(32),
        spanId: String(index + 1).padStart(16, '0'),
        parentSpanId: parent < index ? String(parent + 1).padStart(16, '0') : undefined,
        name: `span ${index}`,
        startMs: NOON + startMs,
        endMs: NOON + startMs + lastsMs,
        durationMs: lastsMs,
        attributes: new Map(known),
        events: [],
        linkedTraceIds: links,
        failed,
        statusMessage: failed ? 'broken' : '',
        droppedAttributes: 0,
        resource: { attributes: new Map([['service.name', 'shop']]) },
        scope: { name: 'test', version: '' },
      };
    }),
  );

/** Processes requests like a gateway that knows the traces of agents. */
function eventsOf(requests: readonly (readonly OtlpSpan[])[]): readonly AgentEvent[] {
  const read = requests.map((spans) => spans.map(readSpan));
  const traces = new Set(
    read
      .flat()
      .filter(isOfAgent)
      .map(({ span }) => span.traceId),
  );
  const context = { prices: PRICES, agentId: undefined, content: 'last', keepSteps: false } as const;
  const events = read.flat().flatMap((span) =>
    translateSpan(span, { ...context, isTraceOfAgent: traces.has(span.span.traceId) }).map(
      ({ clientId = '', timestamp = '', facts }): AgentEvent => ({
        ...facts,
        id: clientId,
        occurredAt: timestamp,
        retryable: true,
        hash: '',
      }),
    ),
  );
  // Stored events are not stored again.
  return [...new Map(events.map((event) => [event.id, event])).values()];
}

describe('runs of spans', () => {
  it('are the same for any order, any split into requests and any duplication of their spans', () => {
    const sent = anyTraces.chain((spans) =>
      fc.tuple(
        fc.constant(spans),
        fc.shuffledSubarray([...spans, ...spans], { minLength: spans.length * 2 }),
        fc.integer({ min: 1, max: 5 }),
      ),
    );
    fc.assert(
      fc.property(sent, ([spans, again, size]) => {
        const requests = Array.from({ length: Math.ceil(again.length / size) }, (_, n) =>
          again.slice(n * size, (n + 1) * size),
        );
        const sorted = (ledger: ReturnType<typeof ledgerOf>) =>
          [ledger.runs, ledger.agents, ledger.days].map((map) => [...map].sort(([a], [b]) => (a < b ? -1 : 1)));
        expect(sorted(ledgerOf(eventsOf(requests)))).toEqual(sorted(ledgerOf(eventsOf([spans]))));
      }),
      { numRuns: 300 },
    );
  });

  it('exist from their first span on and end with their root', () => {
    fc.assert(
      fc.property(anyTraces, (spans) => {
        const { runs } = ledgerOf(eventsOf([spans]));
        for (const [runId, run] of runs) {
          const roots = spans.filter(({ traceId, parentSpanId }) => traceId === runId && parentSpanId === undefined);
          const closing = roots.filter(({ attributes }) => attributes.get('gen_ai.operation.name') !== 'create_agent');
          expect(statusOf(run) === 'running').toBe(closing.length === 0);
        }
      }),
    );
  });
});
