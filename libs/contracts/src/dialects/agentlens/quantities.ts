import type { JsonObject, Usage } from '../../events.ts';
import type { EventTypeName } from './event-types.ts';
import type { PriceBook } from './prices.ts';

export interface QuantifiedEvent {
  readonly type: EventTypeName;
  readonly payload: JsonObject;
  readonly metadata: JsonObject;
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly atMs: number;
}

/** The numbers of an event that rules, runs and charts count, lifted out of its payload. */
export function usageOf(event: QuantifiedEvent, prices: PriceBook): Usage | undefined {
  const quantities = countsOf(event);
  if (!SPENDS.includes(event.type)) return Object.keys(quantities).length === 0 ? undefined : quantities;
  return { ...quantities, ...costOf(event, quantities, prices) };
}

/** Types whose events stand for money; one of them without a known cost is `unpriced`. */
const SPENDS: readonly EventTypeName[] = ['llm_response', 'cost_tracked'];

function countsOf({ type, payload }: QuantifiedEvent): Usage {
  const latencyMs = number(type === 'llm_response' ? payload.latencyMs : payload.durationMs);
  const tokens = type === 'llm_response' ? (payload.usage as JsonObject) : type === 'cost_tracked' ? payload : {};
  const counts: Usage = {
    inputTokens: whole(tokens.inputTokens),
    outputTokens: whole(tokens.outputTokens),
    totalTokens: whole(tokens.totalTokens),
    cacheReadTokens: whole(tokens.cacheReadTokens),
    cacheWriteTokens: whole(tokens.cacheWriteTokens),
    latencyMs,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => value !== undefined));
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

/** The LangChain plugin writes a cost of 0 into every answer because it does not know it. */
function isPlaceholder(costUsd: number, { metadata }: QuantifiedEvent, usage: Usage): boolean {
  if (costUsd !== 0 || (usage.totalTokens ?? 0) === 0) return false;
  return metadata.source === 'langchain' || metadata.framework === 'langchain';
}

/** Tokens are counts; a client that reports an average is rounded. */
function whole(value: unknown): number | undefined {
  return typeof value === 'number' ? Math.round(value) : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
