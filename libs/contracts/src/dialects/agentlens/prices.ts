import type { Usage } from '../../events.ts';

/** A model call to be priced. */
export interface PricedCall {
  readonly model: string;
  /** As the client names it. If absent, the price book derives it from the name of the model. */
  readonly provider?: string | undefined;
  readonly usage: Usage;
  /** Whether the input tokens include the cached ones, if the dialect says so. Otherwise the price book infers it. */
  readonly cachedInside?: boolean;
  /** Cache writes that live for an hour, a part of `cacheWriteTokens`. Anthropic charges more for them. */
  readonly cacheWrite1hTokens?: number | undefined;
  /** Tokens spent on thinking. Most vendors include them in the output tokens, Gemini does not. */
  readonly reasoningTokens?: number | undefined;
  /** The total as the client sent it; it shows what the other counts include. */
  readonly sentTotal?: number | undefined;
  /** The tier that served the call, as the vendor names it: `default`, `flex`, `priority`, `batch`. */
  readonly serviceTier?: string | undefined;
  /** When the call happened: prices change. */
  readonly atMs: number;
}

/** What models cost. An adapter over a maintained price table; it answers from memory. */
export interface PriceBook {
  providerOf(model: string): string | undefined;
  /** USD, or undefined if no price is known. Zero means that the model is free. */
  costOf(call: PricedCall): number | undefined;
}

/**
 * The cost of a call, and whether the client reported it or the price book computed it. Gateways and SDKs that do not
 * know a price report 0, so a reported 0 counts only if the price book knows no other price.
 * @param reported USD as the client reports it
 * @param zeroIsUnknown the client writes 0 into every call, so 0 says nothing even about a model without a price
 */
export function pricedUsage(
  reported: number | undefined,
  call: Omit<PricedCall, 'model'> & { readonly model: string | undefined },
  prices: PriceBook,
  zeroIsUnknown = false,
): Usage {
  if (reported !== undefined && reported !== 0) return { costUsd: reported, costSource: 'reported' };
  const { model, usage } = call;
  const computed = model !== undefined && isSpent(usage) ? prices.costOf({ ...call, model }) : undefined;
  if (reported === 0 && !zeroIsUnknown && (computed ?? 0) === 0) return { costUsd: 0, costSource: 'reported' };
  return computed === undefined ? { costSource: 'unpriced' } : { costUsd: computed, costSource: 'priced' };
}

function isSpent({ inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 }: Usage): boolean {
  return inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens > 0;
}
