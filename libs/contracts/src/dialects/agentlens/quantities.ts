import type { JsonObject, Usage } from '../../events.ts';
import { type PriceBook, pricedUsage } from '../../prices.ts';
import type { EventTypeName } from './event-types.ts';
import { isObject } from './payload-schema.ts';

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

/** Longest service tier that is kept, in characters. */
const MAX_TIER_LENGTH = 100;

const TOKEN_COUNTS = [
  ...(['inputTokens', 'outputTokens', 'totalTokens', 'cacheReadTokens', 'cacheWriteTokens'] as const),
  ...(['cacheWrite1hTokens', 'reasoningTokens', 'audioInputTokens', 'audioOutputTokens'] as const),
  ...(['cacheReadAudioTokens', 'webSearches', 'fileSearches'] as const),
];

/** Extracts the numbers of an event that rules, runs and charts count. */
export function usageOf(event: QuantifiedEvent, prices: PriceBook): Usage | undefined {
  const quantities = countsOf(event);
  if (!SPENDS.includes(event.type)) return quantities.latencyMs === undefined ? undefined : quantities;
  return pricedOf(event, quantities, prices);
}

/** Types whose events represent a cost. Without a known cost such an event is `unpriced`. */
const SPENDS: readonly EventTypeName[] = ['llm_response', 'cost_tracked'];

function countsOf({ type, payload }: QuantifiedEvent): Usage {
  const counts: Usage = {};
  const latencyMs = number(type === 'llm_response' ? payload.latencyMs : payload.durationMs);
  if (latencyMs !== undefined) counts.latencyMs = latencyMs;
  if (!SPENDS.includes(type)) return counts;
  const tokens = type === 'llm_response' ? (payload.usage as JsonObject) : payload;
  const hour = tokens.cacheWrite1hTokens ?? objectOr(tokens.cache_creation, {}).ephemeral_1h_input_tokens;
  const sent = {
    ...tokens,
    cacheWrite1hTokens: hour,
    reasoningTokens: tokens.reasoningTokens ?? tokens.thinkingTokens,
    webSearches: tokens.webSearches ?? objectOr(tokens.server_tool_use, {}).web_search_requests,
  };
  for (const name of TOKEN_COUNTS) {
    const count = number((sent as JsonObject)[name]);
    // Round, because some clients report averages.
    if (count !== undefined) counts[name] = Math.round(count);
  }
  const serviceTier = text(payload.serviceTier) ?? text(tokens.serviceTier) ?? text(tokens.service_tier);
  if (serviceTier !== undefined) counts.serviceTier = serviceTier.slice(0, MAX_TIER_LENGTH);
  return counts;
}

function pricedOf(event: QuantifiedEvent, usage: Usage, prices: PriceBook): Usage {
  const { payload, sent, model, provider, atMs } = event;
  const sentTotal = number(objectOr(sent.usage, {}).totalTokens) ?? number(sent.totalTokens);
  return pricedUsage(number(payload.costUsd), { model, provider, usage, atMs, sentTotal }, prices, writesZero(event));
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
