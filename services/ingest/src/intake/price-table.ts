import type { PriceBook, PricedCall, Usage } from '@agentlens/contracts';
import { calcPrice, findProvider } from '@pydantic/genai-prices';

/** More model names than exist. A client that invents names must not grow the process. */
const MAX_CACHED_MODELS = 2_000;

/** Prices from the table in the package. Nothing is fetched at run time. */
export class PriceTable implements PriceBook {
  readonly #providers = new Map<string, string | undefined>();

  providerOf(model: string): string | undefined {
    if (this.#providers.has(model)) return this.#providers.get(model);
    const { modelId, providerId } = partsOf(model);
    const provider = findProvider(providerId === undefined ? { modelId } : { modelId, providerId })?.id;
    if (this.#providers.size >= MAX_CACHED_MODELS) this.#providers.clear();
    this.#providers.set(model, provider);
    return provider;
  }

  /**
   * If the provider is unknown or does not list the model, the price of the model's maker applies. `maker/model` names
   * (LiteLLM) are split.
   */
  costOf({ model, provider, usage, atMs, cachedInside }: PricedCall): number | undefined {
    const named = partsOf(model);
    const tokens = tokensOf(usage, model, cachedInside === true);
    const timestamp = new Date(atMs);
    for (const providerId of new Set([provider, named.providerId, undefined])) {
      const cost = priceOf(tokens, named.modelId, providerId, timestamp);
      if (cost !== undefined) return cost;
    }
    return undefined;
  }
}

function partsOf(model: string): { modelId: string; providerId: string | undefined } {
  const slash = model.indexOf('/');
  if (slash <= 0) return { modelId: model, providerId: undefined };
  return { modelId: model.slice(slash + 1), providerId: model.slice(0, slash) };
}

type Tokens = Readonly<Record<'input_tokens' | 'output_tokens' | 'cache_read_tokens' | 'cache_write_tokens', number>>;

/**
 * The table expects cached tokens inside the input tokens. A source that always counts them there says so. Of the
 * others, Anthropic's own API reports them beside the input; if the total or the sizes show that, it decides.
 */
function tokensOf(usage: Usage, model: string, cachedInside: boolean): Tokens {
  const { inputTokens: input = 0, outputTokens: output = 0, totalTokens } = usage;
  const { cacheReadTokens: read = 0, cacheWriteTokens: write = 0 } = usage;
  const cached = read + write;
  const beside =
    !cachedInside && (cached > input || totalTokens === input + output + cached || model.includes('claude'));
  return {
    input_tokens: beside ? input + cached : input,
    output_tokens: output,
    cache_read_tokens: read,
    cache_write_tokens: write,
  };
}

function priceOf(tokens: Tokens, model: string, provider: string | undefined, timestamp: Date): number | undefined {
  try {
    const options = provider === undefined ? { timestamp } : { timestamp, providerId: provider };
    return calcPrice({ ...tokens }, model, options)?.total_price;
  } catch {
    // The table throws for a kind of token without a price. That means an unknown price, not an invalid event.
    return undefined;
  }
}
