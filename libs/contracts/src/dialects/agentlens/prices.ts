import type { Usage } from '../../events.ts';

/** A model call to be priced. */
export interface PricedCall {
  readonly model: string;
  /** As named by the client; if absent, derived from the model's name. */
  readonly provider?: string | undefined;
  readonly usage: Usage;
  /**
   * True if the input tokens are known to include the cached ones; otherwise the price book infers it from the model.
   */
  readonly cachedInside?: boolean;
  /** When the call happened, because prices change. */
  readonly atMs: number;
}

/** Prices of models. An adapter over a maintained price table that answers from memory. */
export interface PriceBook {
  providerOf(model: string): string | undefined;
  /** Returns USD, or undefined (never zero) if no price is known. */
  costOf(call: PricedCall): number | undefined;
}
