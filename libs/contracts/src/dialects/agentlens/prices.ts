import type { Usage } from '../../events.ts';

/** A model call whose price is asked for. */
export interface PricedCall {
  readonly model: string;
  /** As the client names it; absent: found from the model's name. */
  readonly provider?: string | undefined;
  readonly usage: Usage;
  /** The input tokens include the cached ones for certain, whichever model it is; otherwise the price book infers it. */
  readonly cachedInside?: boolean;
  /** When it happened: prices change. */
  readonly atMs: number;
}

/** What models cost. An adapter over a maintained price table; answers from memory. */
export interface PriceBook {
  providerOf(model: string): string | undefined;
  /** USD; undefined where no price is known, never zero for want of one. */
  costOf(call: PricedCall): number | undefined;
}
