import type { PricedCall } from '@agentlens/contracts';

/** Tokens in the one form the price table takes: the input includes the cached tokens, the output the thinking. */
export interface BilledTokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  /** Includes `cache_write_1h_tokens`. */
  readonly cache_write_tokens: number;
  readonly cache_write_1h_tokens?: number;
}

/** Converts the counts of a call, as any vendor or gateway reports them, to the form the price table takes. */
export function billedTokens(call: PricedCall): BilledTokens {
  const { inputTokens: sentInput = 0, outputTokens: output = 0, cacheReadTokens: read = 0 } = call.usage;
  const hour = call.cacheWrite1hTokens ?? 0;
  const write = Math.max(call.usage.cacheWriteTokens ?? 0, hour);
  const input = sentInput + (isBeside(call, read + write) ? read + write : 0);
  return {
    input_tokens: input,
    output_tokens: output + thinkingBeside(call, input),
    cache_read_tokens: read,
    cache_write_tokens: write,
    ...(hour === 0 ? {} : { cache_write_1h_tokens: hour }),
  };
}

/** Gateways that report the tokens of every model as OpenAI does. */
const COUNT_CACHED_INSIDE: ReadonlySet<string> = new Set(['openrouter', 'litellm', 'litellm_proxy', 'vercel']);

/**
 * Whether cached tokens come on top of the input tokens. More of them than input tokens can only be on top. Otherwise
 * the dialect decides, then the total the client sent. If neither says it, only Anthropic's own API counts this way.
 */
function isBeside({ model, provider, usage, cachedInside, sentTotal }: PricedCall, cached: number): boolean {
  const { inputTokens: input = 0, outputTokens: output = 0 } = usage;
  if (cached === 0) return false;
  if (cached > input) return true;
  if (cachedInside !== undefined) return !cachedInside;
  if (sentTotal === input + output) return false;
  if (sentTotal === input + output + cached) return true;
  return model.includes('claude') && !COUNT_CACHED_INSIDE.has(provider?.toLowerCase() ?? '');
}

/**
 * Thinking tokens that the output tokens leave out. The Gemini API counts them only in `thoughtsTokenCount` and in the
 * total, and charges them as output; a client that drops the first still sends the total.
 */
function thinkingBeside({ model, usage, reasoningTokens = 0, sentTotal }: PricedCall, input: number): number {
  const { outputTokens: output = 0 } = usage;
  if (reasoningTokens > 0) {
    return reasoningTokens > output || sentTotal === input + output + reasoningTokens ? reasoningTokens : 0;
  }
  if (!model.toLowerCase().includes('gemini') || sentTotal === undefined) return 0;
  return Math.max(0, sentTotal - input - output);
}
