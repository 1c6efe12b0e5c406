import type { JsonObject, Usage } from '../../events.ts';
import type { EventTypeName } from './event-types.ts';
import type { PriceBook } from './prices.ts';

interface QuantifiedEvent {
  readonly type: EventTypeName;
  readonly payload: JsonObject;
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
  const reported = number(event.payload.costUsd);
  if (reported !== undefined && !isPlaceholder(reported, event, usage)) {
    return { costUsd: reported, costSource: 'reported' };
  }
  const { model, provider, atMs } = event;
  const spent = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) > 0;
  const costUsd = spent && model !== undefined ? prices.costOf({ model, provider, usage, atMs }) : undefined;
  return costUsd === undefined ? { costSource: 'unpriced' } : { costUsd, costSource: 'priced' };
}

/** The LangChain plugin reports a cost of 0 in every response because it does not know the cost. */
function isPlaceholder(costUsd: number, { metadata }: QuantifiedEvent, usage: Usage): boolean {
  if (costUsd !== 0 || (usage.totalTokens ?? 0) === 0) return false;
  return metadata.source === 'langchain' || metadata.framework === 'langchain';
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
