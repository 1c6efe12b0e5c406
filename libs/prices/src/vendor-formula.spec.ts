import {
  type JsonObject,
  type TranslatedEvent,
  translateAgentLensEvent,
  translateHandlebarEvent,
} from '@agentlens/contracts';
import { readSpan, tracesFromJson, translateSpan } from '@agentlens/otlp';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { PriceTable } from './price-table.ts';

const AT = Date.parse('2026-03-01T12:00:00Z');
const prices = new PriceTable();

/** What a vendor counts for one call, each token once. */
interface Billed {
  readonly fresh: number;
  readonly read: number;
  readonly write: number;
  readonly hour: number;
  readonly text: number;
  readonly thinking: number;
}

interface Vendor {
  readonly model: string;
  readonly provider: string;
  /** USD per million tokens from the vendor's price page, by number of input tokens. */
  readonly rates: (input: number) => Record<'input' | 'output' | 'read' | 'write' | 'hour', number>;
  readonly writesCache: boolean;
}

const flat =
  (input: number, output: number, read: number, write = 0, hour = 0) =>
  () => ({
    ...{ input, output, read, write, hour },
  });

// Price pages of Anthropic, OpenAI and the Gemini API, in March 2026.
const GEMINI: Vendor = {
  ...{ model: 'gemini-2.5-pro', provider: 'google', writesCache: false },
  rates: (input) => (input > 200_000 ? flat(2.5, 15, 0.25) : flat(1.25, 10, 0.125))(),
};
const VENDORS: readonly Vendor[] = [
  { model: 'claude-haiku-4-5', provider: 'anthropic', writesCache: true, rates: flat(1, 5, 0.1, 1.25, 2) },
  {
    ...{ model: 'claude-sonnet-4-5', provider: 'anthropic', writesCache: true },
    rates: (input) => (input > 200_000 ? flat(6, 22.5, 0.6, 7.5, 12) : flat(3, 15, 0.3, 3.75, 6))(),
  },
  { model: 'gpt-5', provider: 'openai', writesCache: false, rates: flat(1.25, 10, 0.125) },
  { model: 'gpt-4o', provider: 'openai', writesCache: false, rates: flat(2.5, 10, 1.25) },
  GEMINI,
];

/** The vendor's formula: each kind of token at its own rate. */
function invoiced({ rates }: Vendor, { fresh, read, write, hour, text, thinking }: Billed): number {
  const rate = rates(fresh + read + write + hour);
  const input = fresh * rate.input + read * rate.read + write * rate.write + hour * rate.hour;
  return (input + (text + thinking) * rate.output) / 1e6;
}

const inputOf = ({ fresh, read, write, hour }: Billed) => fresh + read + write + hour;

/** The usage as the vendor's own API reports it, in members of the AgentLens vocabulary. */
function asVendorReports({ provider }: Vendor, billed: Billed): JsonObject {
  const { fresh, read, write, hour, text, thinking } = billed;
  const cached = { cacheReadTokens: read, cacheWriteTokens: write + hour, cacheWrite1hTokens: hour };
  if (provider === 'anthropic') return { inputTokens: fresh, outputTokens: text + thinking, ...cached };
  if (provider === 'google') {
    const counts = { inputTokens: fresh + read, outputTokens: text, reasoningTokens: thinking, cacheReadTokens: read };
    return { ...counts, totalTokens: fresh + read + text + thinking };
  }
  const counts = { inputTokens: fresh + read, outputTokens: text + thinking, reasoningTokens: thinking };
  return { ...counts, cacheReadTokens: read, totalTokens: fresh + read + text + thinking };
}

function ofAgentLens(vendor: Vendor, billed: Billed): TranslatedEvent {
  const { model, provider } = vendor;
  const payload = { callId: 'c', model, provider, latencyMs: 1, usage: asVendorReports(vendor, billed) };
  const raw = {
    agentId: 'a',
    sessionId: 's',
    eventType: 'llm_response',
    timestamp: new Date(AT).toISOString(),
    payload,
  };
  return accepted(translateAgentLensEvent(raw, prices, AT));
}

/** The audit protocol: the input includes cached tokens, the output thinking. */
function ofProtocol({ model, provider }: Vendor, billed: Billed): TranslatedEvent {
  const { read, write, hour, text, thinking } = billed;
  const tokens = { in: inputOf(billed), out: text + thinking, cacheRead: read, cacheWrite: write + hour };
  const data = {
    callId: 'c',
    model: { name: model, provider },
    tokens: { ...tokens, cacheWrite1h: hour, reasoning: thinking },
  };
  const event = {
    schema: 'handlebar.audit.v1',
    id: 'e',
    ts: new Date(AT).toISOString(),
    runId: 'r',
    kind: 'llm.result',
  };
  return accepted(translateHandlebarEvent({ ...event, data }, 'a', prices, AT));
}

/** The GenAI conventions of OpenTelemetry. */
function ofSpan({ model, provider }: Vendor, billed: Billed): TranslatedEvent {
  const { read, write, hour, text, thinking } = billed;
  const counts = {
    ...{ input_tokens: inputOf(billed), output_tokens: text + thinking, 'cache_read.input_tokens': read },
    ...{ 'cache_creation.input_tokens': write + hour, 'cache_creation.ephemeral_1h_input_tokens': hour },
    'reasoning.output_tokens': thinking,
  };
  const attributes = [
    ...['gen_ai.operation.name', 'gen_ai.request.model', 'gen_ai.provider.name'].map((key, index) => ({
      ...{ key, value: { stringValue: ['chat', model, provider][index] } },
    })),
    ...Object.entries(counts).map(([name, count]) => ({
      ...{ key: `gen_ai.usage.${name}`, value: { intValue: String(count) } },
    })),
  ];
  const time = `${BigInt(AT) * 1_000_000n}`;
  const span = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', name: 'chat', attributes };
  const spans = [{ ...span, startTimeUnixNano: time, endTimeUnixNano: time }];
  const steps = tracesFromJson(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  const context = { prices, agentId: 'a', content: 'all', keepSteps: false } as const;
  const events = step.value.spans.flatMap((one) => translateSpan(readSpan(one), context));
  const call = events.find(({ facts }) => facts.kind === 'llm.completed');
  if (call === undefined) throw new Error('the span became no model call');
  return call;
}

function accepted(translation: ReturnType<typeof translateAgentLensEvent>): TranslatedEvent {
  if (!translation.ok) throw new Error(JSON.stringify(translation.details));
  return translation.event;
}

const tokens = fc.oneof(fc.nat(2_000), fc.nat(400_000));
const anyBilled = fc.record({
  fresh: tokens,
  read: tokens,
  write: tokens,
  hour: tokens,
  text: tokens,
  thinking: tokens,
});

describe('the cost of a call', () => {
  it.each([
    ['events', ofAgentLens],
    ['the audit protocol', ofProtocol],
    ['OpenTelemetry', ofSpan],
  ])('from %s equals the formula of the vendor for any usage', (_dialect, translated) => {
    fc.assert(
      fc.property(fc.constantFrom(...VENDORS), anyBilled, (vendor, all) => {
        const billed = vendor.writesCache ? all : { ...all, write: 0, hour: 0 };
        // A call without new tokens would be read as one whose cached tokens come on top.
        fc.pre(billed.fresh > 0 && billed.text > 0);
        const { usage } = translated(vendor, billed).facts;
        const expected = invoiced(vendor, billed);
        expect(usage?.costSource).toBe('priced');
        expect(Math.abs((usage?.costUsd ?? 0) - expected)).toBeLessThanOrEqual(1e-12 + expected * 1e-9);
        expect(usage?.inputTokens).toBe(inputOf(billed));
        expect(usage?.outputTokens).toBe(billed.text + billed.thinking);
      }),
      // The total of this call fits "cached tokens on top" as well as "thinking on top".
      {
        numRuns: 400,
        examples: [[GEMINI, { fresh: 1, read: 14, write: 0, hour: 0, text: 1, thinking: 14 }]],
      },
    );
  });
});
