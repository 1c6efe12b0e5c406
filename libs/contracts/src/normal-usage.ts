import type { Usage } from './events.ts';

/** The counts of a model call as a client sends them, with what the client says about their meaning. */
export interface SentUsage {
  readonly model: string | undefined;
  /** As the client names it. */
  readonly provider?: string | undefined;
  readonly usage: Usage;
  /** Whether the input tokens include the cached ones, if the dialect defines it. Otherwise it is inferred. */
  readonly cachedInside?: boolean;
  /** The total as the client sent it; it shows what the other counts include. */
  readonly sentTotal?: number | undefined;
}

/**
 * Converts the counts of a call to the one form the platform stores, prices and shows: input tokens include cached
 * reads and writes, output tokens include thinking, cache writes include those that live for an hour. Counts that
 * already have this form are returned unchanged.
 */
export function normalUsage(call: SentUsage): Usage {
  const { usage } = call;
  const read = usage.cacheReadTokens ?? 0;
  const write = Math.max(usage.cacheWriteTokens ?? 0, usage.cacheWrite1hTokens ?? 0);
  const sentInput = usage.inputTokens ?? 0;
  const sentOutput = usage.outputTokens ?? 0;
  const input = sentInput + (isBeside(call, read + write) ? read + write : 0);
  const output = sentOutput + thinkingBeside(call, input);
  const isWriteKept = write === (usage.cacheWriteTokens ?? 0);
  if (input === sentInput && output === sentOutput && isWriteKept) return usage;
  return {
    ...usage,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    ...(isWriteKept ? {} : { cacheWriteTokens: write }),
  };
}

/** Gateways that report the tokens of every model as OpenAI does. */
const COUNT_CACHED_INSIDE: ReadonlySet<string> = new Set(['openrouter', 'litellm', 'litellm_proxy', 'vercel']);

/**
 * Whether cached tokens come on top of the input tokens. More of them than input tokens can only be on top. Otherwise
 * the dialect decides, then the total the client sent, unless thinking tokens explain it as well. If neither says it,
 * only Anthropic's own API counts this way.
 */
function isBeside({ model = '', provider, usage, cachedInside, sentTotal }: SentUsage, cached: number): boolean {
  const { inputTokens: input = 0, outputTokens: output = 0, reasoningTokens: thinking = 0 } = usage;
  if (cached === 0) return false;
  if (cached > input) return true;
  if (cachedInside !== undefined) return !cachedInside;
  if (sentTotal === input + output) return false;
  if (sentTotal === input + output + cached && cached !== thinking) return true;
  return model.includes('claude') && !COUNT_CACHED_INSIDE.has(provider?.toLowerCase() ?? '');
}

/**
 * Thinking tokens that the output tokens leave out. The Gemini API counts them only in `thoughtsTokenCount` and in the
 * total, and charges them as output; a client that drops the first still sends the total.
 */
function thinkingBeside({ model = '', usage, sentTotal }: SentUsage, input: number): number {
  const { outputTokens: output = 0, reasoningTokens = 0 } = usage;
  if (reasoningTokens > 0) {
    return reasoningTokens > output || sentTotal === input + output + reasoningTokens ? reasoningTokens : 0;
  }
  if (!model.toLowerCase().includes('gemini') || sentTotal === undefined) return 0;
  return Math.max(0, sentTotal - input - output);
}
