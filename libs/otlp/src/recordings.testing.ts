import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PriceBook, PricedCall, TranslatedEvent } from '@agentlens/contracts';
import { tracesFromJson } from './from-json.ts';
import { tracesFromProtobuf } from './from-protobuf.ts';
import { isSameCall, isSameSpan, type TracedCall } from './same-call.ts';
import type { OtlpSpan } from './span.ts';
import { isOfAgent, type OtlpContext, readSpan, tracedCall, translateSpan } from './translate.ts';

const FOLDER = join(import.meta.dirname, 'recordings');

/** Requests of an instrumented agent, and the responses of its model (interop/otel). */
export interface Recording {
  readonly agent: string;
  /** The libraries, in words. */
  readonly of: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Of the requests, as `record.mjs` wrote it. */
  readonly digest: string;
  readonly model: readonly ModelTurn[];
  readonly requests: readonly RecordedRequest[];
}

interface ModelTurn {
  readonly failed: boolean;
  readonly toolCall?: string;
  readonly usage?: { readonly input: number; readonly output: number; readonly cacheRead: number };
}

interface RecordedRequest {
  readonly path: string;
  readonly contentType: string;
  readonly json?: unknown;
  /** Base64. */
  readonly protobuf?: string;
}

export const RECORDINGS: readonly string[] = readdirSync(FOLDER).map((file) => file.replace('.json', ''));

export function recordingOf(agent: string): Recording {
  return JSON.parse(readFileSync(join(FOLDER, `${agent}.json`), 'utf8')) as Recording;
}

/** Runs all steps and returns their result. */
export function inOneGo<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export function spansOf({ requests }: Recording): readonly OtlpSpan[] {
  return requests
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ json, protobuf = '' }) => {
      const traces =
        json === undefined
          ? inOneGo(tracesFromProtobuf(Buffer.from(protobuf, 'base64')))
          : inOneGo(tracesFromJson(JSON.stringify(json)));
      return traces.spans;
    });
}

/** One dollar per million tokens; cached ones cost a tenth. */
export const PRICES: PriceBook = {
  providerOf: (model) => (model.startsWith('gpt') ? 'openai' : undefined),
  quote: ({ usage }: PricedCall) => ({
    costUsd: ((usage.totalTokens ?? 0) - 0.9 * (usage.cacheReadTokens ?? 0)) / 1e6,
    priceRef: 'table@test',
  }),
};

/**
 * Translates all spans into events like a gateway that remembers response ids and traces.
 * @param context overrides of the default context
 */
export function eventsOf(spans: readonly OtlpSpan[], context: Partial<OtlpContext> = {}): readonly TranslatedEvent[] {
  const read = spans.map(readSpan);
  const traces = new Set(read.filter(isOfAgent).map(({ span }) => span.traceId));
  const counted: TracedCall[] = [];
  return read.flatMap((one) => {
    const call = tracedCall(one);
    const first = call && counted.find((other) => isSameSpan(other, call) || isSameCall(other, call));
    if (call !== undefined && first === undefined) counted.push(call);
    return translateSpan(one, {
      prices: PRICES,
      agentId: undefined,
      content: 'last',
      keepSteps: false,
      countedAs: first === undefined || first === call || isSameSpan(first, call ?? first) ? undefined : first,
      isTraceOfAgent: traces.has(one.span.traceId),
      ...context,
    });
  });
}
