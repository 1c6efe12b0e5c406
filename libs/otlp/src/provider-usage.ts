import type { JsonObject, Usage } from '@agentlens/contracts';
import { isObject, objectAt } from './attributes.ts';
import type { Attributes } from './span.ts';

/** Where the AI SDK (5 to 7) keeps what only the provider reports, as JSON text. */
const METADATA = 'ai.response.providerMetadata';

/** What the provider itself reported about a call, beside the counts of the framework. */
export interface ProviderUsage {
  /** Counts in normal form; they replace those of the framework. */
  readonly usage?: Usage;
  readonly serviceTier?: string;
  /** USD, as a gateway reports it. */
  readonly costUsd?: number;
}

const NOTHING: ProviderUsage = {};

/** Reads the usage that the AI SDK keeps as metadata of the provider. */
export function readProviderUsage(attributes: Attributes): ProviderUsage {
  if (!attributes.has(METADATA)) return NOTHING;
  const metadata = objectAt(attributes, METADATA);
  for (const [provider, read] of READERS) {
    const members = metadata[provider];
    const found = isObject(members) ? read(members) : undefined;
    if (found !== undefined) return found;
  }
  return NOTHING;
}

type Reader = (members: JsonObject) => ProviderUsage | undefined;

const READERS: readonly (readonly [provider: string, read: Reader])[] = [
  ['anthropic', ({ usage }) => (isObject(usage) ? readAnthropic(usage) : undefined)],
  ['google', ({ usageMetadata }) => (isObject(usageMetadata) ? readGemini(usageMetadata) : undefined)],
  ['vertex', ({ usageMetadata }) => (isObject(usageMetadata) ? readGemini(usageMetadata) : undefined)],
  ['googleVertex', ({ usageMetadata }) => (isObject(usageMetadata) ? readGemini(usageMetadata) : undefined)],
  ['openai', readTier],
  ['azure', readTier],
  ['openrouter', ({ usage }) => (isObject(usage) ? readCost(usage) : undefined)],
  ['gateway', readCost],
];

/** Anthropic counts cached tokens beside the input tokens. */
function readAnthropic(sent: JsonObject): ProviderUsage | undefined {
  const [input, output] = [count(sent.input_tokens), count(sent.output_tokens)];
  if (input === undefined || output === undefined) return undefined;
  const cacheReadTokens = count(sent.cache_read_input_tokens) ?? 0;
  const cacheWriteTokens = count(sent.cache_creation_input_tokens) ?? 0;
  const hour = isObject(sent.cache_creation) ? count(sent.cache_creation.ephemeral_1h_input_tokens) : undefined;
  const tools = isObject(sent.server_tool_use) ? sent.server_tool_use : {};
  return {
    usage: withTotal({
      inputTokens: input + cacheReadTokens + cacheWriteTokens,
      outputTokens: output,
      ...positive({ cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens: hour }),
      ...positive({ webSearches: count(tools.web_search_requests) }),
    }),
    ...(typeof sent.service_tier === 'string' ? { serviceTier: sent.service_tier } : {}),
  };
}

/** Gemini counts thinking beside the answer, and the results of its own tools beside the prompt. */
function readGemini(sent: JsonObject): ProviderUsage | undefined {
  const prompt = count(sent.promptTokenCount);
  if (prompt === undefined) return undefined;
  const thoughts = count(sent.thoughtsTokenCount) ?? 0;
  return {
    usage: withTotal({
      inputTokens: prompt + (count(sent.toolUsePromptTokenCount) ?? 0),
      outputTokens: (count(sent.candidatesTokenCount) ?? 0) + thoughts,
      ...positive({
        cacheReadTokens: count(sent.cachedContentTokenCount),
        reasoningTokens: thoughts,
        audioInputTokens: sumAudio(sent.promptTokensDetails),
        audioOutputTokens: sumAudio(sent.candidatesTokensDetails),
        cacheReadAudioTokens: sumAudio(sent.cacheTokensDetails),
      }),
    }),
  };
}

function sumAudio(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  return details.reduce<number>((sum, detail) => {
    return isObject(detail) && detail.modality === 'AUDIO' ? sum + (count(detail.tokenCount) ?? 0) : sum;
  }, 0);
}

function readTier({ serviceTier }: JsonObject): ProviderUsage | undefined {
  return typeof serviceTier === 'string' && serviceTier !== '' ? { serviceTier } : undefined;
}

/** Gateways report what they charge, as a number or its digits. */
function readCost({ cost }: JsonObject): ProviderUsage | undefined {
  const usd = typeof cost === 'string' && /^\d+(\.\d+)?$/.test(cost) ? Number(cost) : cost;
  return typeof usd === 'number' && usd >= 0 && usd <= 100_000 ? { costUsd: usd } : undefined;
}

function withTotal(usage: Usage): Usage {
  return { ...usage, totalTokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) };
}

function positive(counts: Usage): Usage {
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => typeof value === 'number' && value > 0));
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= 1e12 ? Math.round(value) : undefined;
}
