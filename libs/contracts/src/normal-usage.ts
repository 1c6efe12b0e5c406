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
  const withCached = sentInput + (isBeside(call, read + write) ? read + write : 0);
  const { thinking, toolResults } = uncounted(call, withCached);
  const input = withCached + toolResults;
  const output = sentOutput + thinking;
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
 * Tokens that are only in the total. The Gemini API counts thinking and the results of its own tools (charged as output
 * and as input) in members of their own, which clients drop; the total still contains them. A total that is higher for
 * an unknown reason counts as thinking, the dearer of the two.
 */
function uncounted(
  { model = '', usage, sentTotal }: SentUsage,
  input: number,
): { readonly thinking: number; readonly toolResults: number } {
  const { outputTokens: output = 0, reasoningTokens: reasoning = 0 } = usage;
  const missing = sentTotal === undefined ? 0 : Math.max(0, sentTotal - input - output);
  const isGemini = model.toLowerCase().includes('gemini');
  if (reasoning === 0) return { thinking: isGemini ? missing : 0, toolResults: 0 };
  const isBesideOutput = reasoning > output || missing === reasoning || (isGemini && missing > reasoning);
  const thinking = isBesideOutput ? reasoning : 0;
  return { thinking, toolResults: isGemini ? Math.max(0, missing - thinking) : 0 };
}
