import type { JsonObject, Usage } from '../../events.ts';
import type { EventTypeName } from './event-types.ts';
import { isObject } from './payload-schema.ts';
import { type PriceBook, pricedUsage } from './prices.ts';

interface QuantifiedEvent {
  readonly type: EventTypeName;
  readonly payload: JsonObject;
  /** The payload before gaps were filled: a total that was filled in says nothing about what the counts include. */
  readonly sent: JsonObject;
  readonly metadata: JsonObject;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly atMs: number;
}

const TOKEN_COUNTS = ['inputTokens', 'outputTokens', 'totalTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const;

/** Extracts the numbers of an event that rules, runs and charts count. */
export function usageOf(event: QuantifiedEvent, prices: PriceBook): Usage | undefined {
  const quantities = countsOf(event);
  if (!SPENDS.includes(event.type)) return quantities.latencyMs === undefined ? undefined : quantities;
  return { ...quantities, ...costOf(event, quantities, prices) };
}

/** Types whose events represent a cost. Without a known cost such an event is `unpriced`. */
const SPENDS: readonly EventTypeName[] = ['llm_response', 'cost_tracked'];

function countsOf({ type, payload }: QuantifiedEvent): Usage {
  const counts: Usage = {};
  const latencyMs = number(type === 'llm_response' ? payload.latencyMs : payload.durationMs);
  if (latencyMs !== undefined) counts.latencyMs = latencyMs;
  if (!SPENDS.includes(type)) return counts;
  const tokens = type === 'llm_response' ? (payload.usage as JsonObject) : payload;
  for (const name of TOKEN_COUNTS) {
    const count = number(tokens[name]);
    // Round, because some clients report averages.
    if (count !== undefined) counts[name] = Math.round(count);
  }
  return counts;
}

function costOf(event: QuantifiedEvent, usage: Usage, prices: PriceBook): Usage {
  const { payload, sent, model, provider, atMs } = event;
  const counts = objectOr(payload.usage, payload);
  const sentCounts = objectOr(sent.usage, {});
  const call = {
    ...{ model, provider, usage, atMs },
    cacheWrite1hTokens:
      number(counts.cacheWrite1hTokens) ?? number(objectOr(counts.cache_creation, {}).ephemeral_1h_input_tokens),
    reasoningTokens: number(counts.reasoningTokens) ?? number(counts.thinkingTokens),
    sentTotal: number(sentCounts.totalTokens) ?? number(sent.totalTokens),
    serviceTier: text(payload.serviceTier) ?? text(counts.serviceTier) ?? text(counts.service_tier),
  };
  return pricedUsage(number(payload.costUsd), call, prices, writesZero(event));
}

/** The LangChain plugin does not know what a call costs and writes 0 into every answer. */
function writesZero({ metadata }: QuantifiedEvent): boolean {
  return metadata.source === 'langchain' || metadata.framework === 'langchain';
}

function objectOr(value: unknown, otherwise: JsonObject): JsonObject {
  return isObject(value) ? value : otherwise;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}
