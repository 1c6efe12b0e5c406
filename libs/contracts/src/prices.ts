import type { Usage } from './events.ts';
import { normalUsage, type SentUsage } from './normal-usage.ts';

/** A model call to be priced. */
export interface PricedCall {
  readonly model: string;
  /** As the client names it. If absent, the price book derives it from the name of the model. */
  readonly provider?: string | undefined;
  /** In normal form: see `normalUsage`. */
  readonly usage: Usage;
  /** When the call happened: prices change. */
  readonly atMs: number;
}

/** Why a call has no exact price. */
export const UNPRICED_REASONS = [
  'no_model',
  'no_tokens',
  'unknown_model',
  'self_hosted',
  'service_tier',
  'audio',
  'searches',
  'cache_write_1h',
  'invalid_counts',
] as const;
export type UnpricedReason = (typeof UNPRICED_REASONS)[number];

/** Why a computed cost may differ from the invoice. */
export const APPROXIMATIONS = ['cached_audio', 'dated_model'] as const;
export type Approximation = (typeof APPROXIMATIONS)[number];

/** The answer of a price book. */
export type Quote =
  /** USD, zero if the model is free, and the price that applied: `table@0.1.8` or `override:<id>@<version>`. */
  | {
      readonly costUsd: number;
      readonly priceRef: string;
      /** The part of the cost that is a fee for searches. */
      readonly feesUsd?: number;
      readonly approximation?: Approximation;
    }
  /** `estimateUsd` is what the dearest model of the provider would cost; absent if the provider is unknown. */
  | { readonly unpriced: UnpricedReason; readonly estimateUsd?: number };

/** What models cost. Answers from memory. */
export interface PriceBook {
  providerOf(model: string): string | undefined;
  quote(call: PricedCall): Quote;
}

/** Shares of the cost by which a reported and a computed cost may differ before they count as different. */
export const COST_TOLERANCE = 0.05;

/**
 * The usage of a call in normal form, with its cost and whether the client reported it or the price book computed it.
 * Gateways and SDKs that do not know a price report 0, so a reported 0 beside tokens counts only for a model that is
 * known to be free: one with a price of 0, or one that runs on a server of the client's own.
 * @param reported USD as the client reports it
 * @param zeroIsUnknown the client writes 0 into every call, so 0 says nothing even about a model without a price
 */
export function pricedUsage(
  reported: number | undefined,
  call: SentUsage & { readonly atMs: number },
  prices: PriceBook,
  zeroIsUnknown = false,
): Usage {
  const normal = normalUsage(call);
  const usage: Usage = normal === call.usage ? normal : { ...normal, countsFrom: 'computed' };
  const quote = quoteOf({ ...call, usage }, prices);
  const computed = recordQuote(quote);
  if (reported !== undefined && reported !== 0) {
    return { ...usage, costUsd: reported, costSource: 'reported', ...computed };
  }
  if ('costUsd' in quote && (quote.costUsd > 0 || reported === undefined)) {
    return { ...usage, costUsd: quote.costUsd, costSource: 'priced', ...computed };
  }
  if (reported === 0 && !zeroIsUnknown && isFree(quote))
    return { ...usage, costUsd: 0, costSource: 'reported', ...computed };
  return { ...usage, costSource: 'unpriced', ...computed, ...unpricedOf(quote) };
}

function quoteOf({ model, ...call }: SentUsage & { readonly atMs: number }, prices: PriceBook): Quote {
  if (!isSpent(call.usage)) return { unpriced: 'no_tokens' };
  return model === undefined ? { unpriced: 'no_model' } : prices.quote({ ...call, model });
}

/** What the price book says about a call, as its usage keeps it. */
export function recordQuote(quote: Quote): Usage {
  if (!('costUsd' in quote)) return {};
  const { costUsd: computedCostUsd, ...how } = quote;
  return { computedCostUsd, ...how };
}

/** Whether a reported 0 can be right. A call without tokens may well have cost nothing. */
function isFree(quote: Quote): boolean {
  return 'costUsd' in quote ? quote.costUsd === 0 : ['self_hosted', 'no_tokens'].includes(quote.unpriced);
}

function unpricedOf(quote: Quote): Usage {
  if ('costUsd' in quote) return {};
  const { unpriced: unpricedReason, estimateUsd } = quote;
  return { unpricedReason, ...(estimateUsd === undefined ? {} : { estimatedCostUsd: estimateUsd }) };
}

function isSpent({ inputTokens = 0, outputTokens = 0 }: Usage): boolean {
  return inputTokens + outputTokens > 0;
}
