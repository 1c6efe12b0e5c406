import type { TokenUsage } from '../core/token-usage.ts';

/** USD per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** Cost of a call with a custom price. Cached tokens are included in the input tokens. */
export function costOf(price: Price, usage: TokenUsage): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const { input, output, cacheRead = input, cacheWrite = input } = price;
  return (fresh * input + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite + outputTokens * output) / 1e6;
}

/** Cost of a call from the table of known models; undefined for an unknown model. The table is loaded on first use. */
export async function knownCost(model: string, usage: TokenUsage): Promise<number | undefined> {
  const { calcPrice } = await import('@pydantic/genai-prices');
  const tokens = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
  };
  const slash = model.indexOf('/');
  return calcPrice(tokens, slash > 0 ? model.slice(slash + 1) : model)?.total_price;
}
