/** Tokens of a call in normal form: the input includes cached tokens, the output includes thinking. */
export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly cacheWrite1hTokens?: number;
  readonly reasoningTokens?: number;
  readonly audioInputTokens?: number;
  readonly audioOutputTokens?: number;
  readonly webSearches?: number;
}

export type ProviderJson = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is ProviderJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A count of a provider; undefined if it is absent or no count. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function member(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}

/** Leaves out what the provider did not report. */
function present(usage: ModelUsage): ModelUsage {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined));
}

/** Usage of Anthropic's API, whose input tokens do not include cached ones. */
export function readAnthropicUsage(usage: unknown): ModelUsage | undefined {
  const uncached = count(member(usage, 'input_tokens'));
  const outputTokens = count(member(usage, 'output_tokens'));
  if (uncached === undefined && outputTokens === undefined) return undefined;
  const cacheReadTokens = count(member(usage, 'cache_read_input_tokens'));
  const cacheWriteTokens = count(member(usage, 'cache_creation_input_tokens'));
  const inputTokens = (uncached ?? 0) + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
  return present({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + (outputTokens ?? 0),
    cacheReadTokens,
    cacheWriteTokens,
    cacheWrite1hTokens: count(member(member(usage, 'cache_creation'), 'ephemeral_1h_input_tokens')),
    webSearches: count(member(member(usage, 'server_tool_use'), 'web_search_requests')),
  });
}

/** Usage of chat completions, whose prompt tokens include cached ones. */
export function readChatUsage(usage: unknown): ModelUsage | undefined {
  const inputTokens = count(member(usage, 'prompt_tokens'));
  const outputTokens = count(member(usage, 'completion_tokens'));
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  const input = member(usage, 'prompt_tokens_details');
  const output = member(usage, 'completion_tokens_details');
  return present({
    inputTokens,
    outputTokens,
    totalTokens: (inputTokens ?? 0) + (outputTokens ?? 0),
    cacheReadTokens: count(member(input, 'cached_tokens')),
    audioInputTokens: count(member(input, 'audio_tokens')),
    reasoningTokens: count(member(output, 'reasoning_tokens')),
    audioOutputTokens: count(member(output, 'audio_tokens')),
  });
}

/** Usage of Responses, whose input tokens include cached ones. */
export function readResponsesUsage(usage: unknown): ModelUsage | undefined {
  const inputTokens = count(member(usage, 'input_tokens'));
  const outputTokens = count(member(usage, 'output_tokens'));
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return present({
    inputTokens,
    outputTokens,
    totalTokens: (inputTokens ?? 0) + (outputTokens ?? 0),
    cacheReadTokens: count(member(member(usage, 'input_tokens_details'), 'cached_tokens')),
    reasoningTokens: count(member(member(usage, 'output_tokens_details'), 'reasoning_tokens')),
  });
}

/** Usage of Gemini, whose prompt tokens include cached ones, and whose answer does not include thoughts. */
export function readGeminiUsage(usage: unknown): ModelUsage | undefined {
  const prompt = count(member(usage, 'promptTokenCount'));
  if (prompt === undefined) return undefined;
  const inputTokens = prompt + (count(member(usage, 'toolUsePromptTokenCount')) ?? 0);
  const thoughts = count(member(usage, 'thoughtsTokenCount'));
  const outputTokens = (count(member(usage, 'candidatesTokenCount')) ?? 0) + (thoughts ?? 0);
  return present({
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cacheReadTokens: count(member(usage, 'cachedContentTokenCount')),
    reasoningTokens: thoughts,
    audioInputTokens: countAudio(member(usage, 'promptTokensDetails')),
    audioOutputTokens: countAudio(member(usage, 'candidatesTokensDetails')),
  });
}

function countAudio(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const audio = details.find((one: unknown) => member(one, 'modality') === 'AUDIO') as unknown;
  return count(member(audio, 'tokenCount'));
}
