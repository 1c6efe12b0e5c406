import { isRecord } from './decision.ts';
import type { AgentMessage, LlmPart, LlmResponse, LlmUsage, ModelInfo } from './model.ts';

/*
 * Normalises answers of model clients. The only place that knows the field names of OpenAI (chat completions and
 * responses), Anthropic, LangChain and the AI SDK (5 to 7). It names none of their types, so it needs no dependency.
 */

type Count = number | null | undefined;
type Details = Readonly<Record<string, unknown>> | null | undefined;

/** Tokens of one model call, as our hooks or a model client count them. */
export type UsageLike =
  | LlmUsage
  | { readonly prompt_tokens: number; readonly completion_tokens: number; readonly prompt_tokens_details?: Details }
  | {
      readonly input_tokens: number;
      readonly output_tokens: number;
      readonly input_tokens_details?: Details;
      readonly cache_read_input_tokens?: Count;
      readonly cache_creation_input_tokens?: Count;
    }
  | { readonly inputTokens: Count | Details; readonly outputTokens: Count | Details };

/** What only the caller knows about a model call. */
export interface ModelCallFacts
  extends Pick<LlmResponse, 'durationMs' | 'costUsd' | 'confidence' | 'callId' | 'error'> {
  /** For an answer that does not name it. */
  readonly model?: ModelInfo | string;
}

/** A shorter form of our own response; an Anthropic message fits too. */
interface ContentAnswer extends ModelCallFacts {
  readonly content: string | readonly unknown[];
  readonly usage?: UsageLike | null | undefined;
}

interface ChatCompletion {
  readonly choices: readonly unknown[];
  readonly model?: string;
  readonly usage?: UsageLike | null | undefined;
}

interface ResponsesAnswer {
  readonly output: readonly unknown[];
  readonly model?: string;
  readonly usage?: UsageLike | null | undefined;
}

interface GeneratedText {
  readonly text: string;
  readonly usage: UsageLike;
  readonly response?: { readonly modelId?: string };
}

/** Input of `afterLlm`: text, our own response, or a model client's response unchanged. */
export type ModelResponseLike = string | LlmResponse | ContentAnswer | ChatCompletion | ResponsesAnswer | GeneratedText;

/** Field names of each count by client; the first that is a number wins. Cached tokens are included in the input. */
const COUNTS: Readonly<Record<Exclude<keyof LlmUsage, 'serviceTier'>, readonly string[]>> = {
  inputTokens: ['inputTokens', 'inputTokens.total', 'input_tokens', 'prompt_tokens', 'promptTokens'],
  outputTokens: ['outputTokens', 'outputTokens.total', 'output_tokens', 'completion_tokens', 'completionTokens'],
  cacheReadTokens: [
    'cacheReadTokens',
    'inputTokenDetails.cacheReadTokens',
    'inputTokens.cacheRead',
    'cachedInputTokens',
    'prompt_tokens_details.cached_tokens',
    'input_tokens_details.cached_tokens',
    'input_token_details.cache_read',
    'input_token_details.cached_tokens',
    'cache_read_input_tokens',
    'cacheReadInputTokens',
  ],
  cacheWriteTokens: [
    'cacheWriteTokens',
    'inputTokenDetails.cacheWriteTokens',
    'inputTokens.cacheWrite',
    'input_token_details.cache_creation',
    'prompt_tokens_details.cache_write_tokens',
    'input_tokens_details.cache_write_tokens',
    'raw.input_tokens_details.cache_write_tokens',
    'raw.prompt_tokens_details.cache_write_tokens',
    'cache_creation_input_tokens',
    'cacheWriteInputTokens',
  ],
  cacheWrite1hTokens: [
    'cacheWrite1hTokens',
    'cache_creation.ephemeral_1h_input_tokens',
    'raw.cache_creation.ephemeral_1h_input_tokens',
    'input_token_details.ephemeral_1h_input_tokens',
  ],
  reasoningTokens: [
    'reasoningTokens',
    'outputTokens.reasoning',
    'outputTokenDetails.reasoningTokens',
    'completion_tokens_details.reasoning_tokens',
    'output_tokens_details.reasoning_tokens',
    'output_token_details.reasoning',
    'output_tokens_details.thinking_tokens',
  ],
  audioInputTokens: [
    'audioInputTokens',
    'prompt_tokens_details.audio_tokens',
    'input_tokens_details.audio_tokens',
    'input_token_details.audio',
    'input_token_details.audio_tokens',
  ],
  audioOutputTokens: [
    'audioOutputTokens',
    'completion_tokens_details.audio_tokens',
    'output_token_details.audio',
    'output_token_details.audio_tokens',
  ],
  cacheReadAudioTokens: [
    'cacheReadAudioTokens',
    'input_token_details.cached_tokens_details.audio_tokens',
    'input_tokens_details.cached_tokens_details.audio_tokens',
    'prompt_tokens_details.cached_tokens_details.audio_tokens',
  ],
  webSearches: ['webSearches', 'server_tool_use.web_search_requests', 'raw.server_tool_use.web_search_requests'],
  fileSearches: ['fileSearches'],
  totalTokens: ['totalTokens', 'total_tokens'],
};
/** Kinds that most clients report as 0. */
const PARTS: ReadonlySet<string> = new Set([
  'cacheWrite1hTokens',
  'reasoningTokens',
  'audioInputTokens',
  'audioOutputTokens',
  'webSearches',
]);
/** Where a client names the tier that served the call, in the response or its usage. */
const TIERS = [
  ...['serviceTier', 'service_tier', 'usage.serviceTier', 'usage.service_tier', 'usage.raw.service_tier'],
  ...['providerMetadata.openai.serviceTier', 'providerMetadata.azure.serviceTier'],
  ...['response_metadata.service_tier', 'response_metadata.usage.service_tier', 'providerData.service_tier'],
];
/** Where the AI SDK keeps the usage as the provider reported it; version 5 keeps some of the counts only there. */
const PROVIDER_USAGES = [
  ...['providerMetadata.anthropic.usage', 'providerMetadata.google.usageMetadata'],
  ...['providerMetadata.vertex.usageMetadata', 'providerMetadata.googleVertex.usageMetadata'],
];
/** Anthropic counts these in addition to `input_tokens`. */
const BESIDE_INPUT = ['cache_read_input_tokens', 'cache_creation_input_tokens'];
/** `totalUsage` covers all steps of an AI SDK call; `usage` in some majors only the last. */
const USAGES = ['totalUsage', 'usage', 'usage_metadata', 'usageMetadata'];
const MODELS = ['model', 'modelId', 'response.modelId', 'response_metadata.model_name', 'modelVersion'];
const TEXTS = ['text', 'refusal'];
const TEXT_PARTS = new Set(['text', 'output_text', 'refusal']);
const CALL_PARTS = new Set([
  'tool_call',
  'tool-call',
  'tool_use',
  'function_call',
  'custom_tool_call',
  'function',
  'custom',
]);
const CALL_RESULTS = new Set(['function_call_output', 'custom_tool_call_output']);
const CALL_IDS = ['toolCallId', 'call_id', 'id'];
const CALL_NAMES = ['toolName', 'name', 'function.name', 'custom.name'];
const CALL_ARGUMENTS = ['args', 'input', 'arguments', 'function.arguments', 'custom.input'];

export type UnreadPart = 'response' | 'content' | 'usage' | 'model';

export interface ReadModelResponse {
  readonly response: LlmResponse;
  /** Parts that were present but could not be read. */
  readonly unread: readonly UnreadPart[];
}

/** Never throws: unreadable parts are listed, and the call still counts. */
export function readModelResponse(given: unknown, about: ModelCallFacts = {}, usual?: ModelInfo): ReadModelResponse {
  try {
    return read(given, isRecord(about) ? about : {}, usual);
  } catch {
    // A getter of the answer threw.
    return read(undefined, {}, usual);
  }
}

function read(given: unknown, about: ModelCallFacts, usual: ModelInfo | undefined): ReadModelResponse {
  const answer = isRecord(given) ? given : {};
  const error = about.error ?? answer.error ?? undefined;
  const content = contentOf(given);
  const counted = first(answer, USAGES);
  const usage = readAnswerUsage(answer);
  const model = modelOf(about.model) ?? modelOf(first(answer, MODELS));
  const { outputText } = answer;
  const callId = about.callId ?? answer.callId;
  const known = isRecord(given) || typeof given === 'string' || error !== undefined;
  const unread: UnreadPart[] = known ? [] : ['response'];
  if (known && content === undefined && outputText === undefined && error === undefined) unread.push('content');
  if (counted != null && usage === undefined) unread.push('usage');
  if (known && model === undefined && usual === undefined && error === undefined) unread.push('model');
  return {
    unread,
    response: {
      content: content ?? [],
      model: model ?? usual ?? { name: 'unknown' },
      ...(usage === undefined ? {} : { usage }),
      ...(typeof outputText === 'string' ? { outputText } : {}),
      ...(typeof callId === 'string' ? { callId } : {}),
      ...(error === undefined ? {} : { error }),
      ...numbers({
        durationMs: about.durationMs ?? answer.durationMs,
        costUsd: about.costUsd ?? answer.costUsd,
        confidence: about.confidence ?? answer.confidence,
      }),
    },
  };
}

/**
 * The usage of an answer, with what only its other members tell: the tier, searches that the vendor ran, and the
 * provider's own counts. An answer with several steps has the sum of their usages.
 */
export function readAnswerUsage(answer: Readonly<Record<string, unknown>>): LlmUsage | undefined {
  const { steps, output } = answer;
  if (Array.isArray(steps) && steps.length > 1) {
    const all = steps.map((step) => (isRecord(step) ? readAnswerUsage(step) : undefined));
    const known = all.filter((usage) => usage !== undefined);
    if (known.length === steps.length) return known.reduce(addUsage);
  }
  const counted = readUsage(first(answer, USAGES));
  const provided = Array.isArray(steps) && steps.length > 1 ? undefined : readUsage(first(answer, PROVIDER_USAGES));
  // In a stream that was cut short, the provider's counts are those of its beginning.
  const isNewer = provided !== undefined && (provided.outputTokens ?? 0) >= (counted?.outputTokens ?? 0);
  const usage = withBedrockCache(isNewer ? provided : counted, answer);
  if (usage === undefined) return undefined;
  const tier = first(answer, TIERS);
  return {
    ...(Array.isArray(output) ? searchesIn(output) : {}),
    ...usage,
    ...(typeof tier === 'string' ? { serviceTier: tier } : {}),
  };
}

/** The AI SDK 5 passes on Bedrock's input tokens, which leave the cached ones out, and has the cache writes beside. */
function withBedrockCache(
  usage: LlmUsage | undefined,
  answer: Readonly<Record<string, unknown>>,
): LlmUsage | undefined {
  const cache = first(answer, ['providerMetadata.bedrock.usage']);
  const isWithCache = usage?.cacheWriteTokens !== undefined || isRecord(first(answer, ['usage.inputTokens']));
  if (usage === undefined || !isRecord(cache) || isWithCache) return usage;
  const [read = 0, write = 0] = ['cacheReadInputTokens', 'cacheWriteInputTokens'].map((name) => {
    const value = cache[name];
    return isCount(value) ? value : undefined;
  });
  const { totalTokens: _, ...counts } = usage;
  const inputTokens = (usage.inputTokens ?? 0) + read + write;
  return { ...counts, inputTokens, cacheReadTokens: read, cacheWriteTokens: write };
}

/** Searches among the items of a response; opening a page that was found costs nothing. */
function searchesIn(output: readonly unknown[]): LlmUsage {
  let [web, files] = [0, 0];
  for (const item of output) {
    if (!isRecord(item)) continue;
    if (item.type === 'file_search_call') files += 1;
    if (item.type !== 'web_search_call') continue;
    const action = isRecord(item.action) ? item.action.type : undefined;
    if (action === undefined || action === 'search') web += 1;
  }
  return { ...(web === 0 ? {} : { webSearches: web }), ...(files === 0 ? {} : { fileSearches: files }) };
}

function addUsage(one: LlmUsage, other: LlmUsage): LlmUsage {
  const sum: Record<string, number | string> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = sum[name];
    sum[name] = typeof value === 'number' && typeof before === 'number' ? before + value : value;
  }
  return sum;
}

/** Gemini counts thinking beside the answer, and the results of its own tools beside the prompt. */
function readGeminiUsage(given: Readonly<Record<string, unknown>>): LlmUsage | undefined {
  const count = (name: string) => (isCount(given[name]) ? given[name] : 0);
  if (!isCount(given.promptTokenCount)) return undefined;
  const thoughts = count('thoughtsTokenCount');
  const parts = {
    cacheReadTokens: count('cachedContentTokenCount'),
    reasoningTokens: thoughts,
    audioInputTokens: sumAudio(given.promptTokensDetails),
    audioOutputTokens: sumAudio(given.candidatesTokensDetails),
    cacheReadAudioTokens: sumAudio(given.cacheTokensDetails),
  };
  return {
    inputTokens: count('promptTokenCount') + count('toolUsePromptTokenCount'),
    outputTokens: count('candidatesTokenCount') + thoughts,
    ...Object.fromEntries(Object.entries(parts).filter(([, value]) => value > 0)),
  };
}

function sumAudio(details: unknown): number {
  if (!Array.isArray(details)) return 0;
  return details.reduce<number>((sum, detail) => {
    const isAudio = isRecord(detail) && detail.modality === 'AUDIO' && isCount(detail.tokenCount);
    return isAudio ? sum + Number(detail.tokenCount) : sum;
  }, 0);
}

/** Undefined if there is no count. */
export function readUsage(given: unknown): LlmUsage | undefined {
  if (!isRecord(given)) return undefined;
  const gemini = readGeminiUsage(given) ?? (isRecord(given.raw) ? readGeminiUsage(given.raw) : undefined);
  if (gemini !== undefined) return gemini;
  const found = Object.fromEntries(
    Object.entries(COUNTS).flatMap(([name, places]) => {
      const count = firstOf(given, places, isCount);
      return count === undefined || (count === 0 && PARTS.has(name)) ? [] : [[name, count]];
    }),
  ) as { -readonly [Name in Exclude<keyof LlmUsage, 'serviceTier'>]: number };
  if (found.inputTokens === undefined && found.outputTokens === undefined) return undefined;
  const beside = BESIDE_INPUT.map((name) => given[name]).filter(isCount);
  if (beside.length > 0) found.inputTokens = beside.reduce((sum, count) => sum + count, found.inputTokens ?? 0);
  const { totalTokens, ...counts } = found;
  const saysNothing = beside.length > 0 || totalTokens === (found.inputTokens ?? 0) + (found.outputTokens ?? 0);
  return saysNothing ? counts : found;
}

/** Text and calls in our format; other parts unchanged. Undefined if it is not content. */
export function readParts(content: unknown): LlmPart[] | undefined {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.flatMap(partOf) : undefined;
}

/** A call's arguments arrive as JSON text. A model may write invalid JSON; the framework reports that to it. */
export function parsedArguments(given: unknown): unknown {
  if (typeof given !== 'string') return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

/** A history message in the format used for recording and recognition; calls have the names of `afterLlm`. */
export function readMessage(given: unknown): AgentMessage {
  try {
    return messageOf(given);
  } catch {
    return { role: 'observation', content: '[Unreadable]' };
  }
}

function messageOf(given: unknown): AgentMessage {
  if (!isRecord(given)) return { role: 'user', content: given ?? '' };
  const { role, type, content, tool_calls: calls } = given;
  if (typeof type === 'string' && CALL_RESULTS.has(type)) return { role: 'tool', content: given.output };
  if (typeof role !== 'string')
    return typeof type === 'string' && CALL_PARTS.has(type)
      ? { role: 'assistant', content: partOf(given) }
      : { role: 'observation', content: content ?? given };
  if (Array.isArray(calls) && calls.length > 0)
    return { role, content: [...(readParts(content) ?? []), ...calls.flatMap(partOf)] };
  if (role === 'assistant' && Array.isArray(content)) return { role, content: readParts(content) };
  return { role, content: content ?? '' };
}

function contentOf(given: unknown): LlmPart[] | undefined {
  if (!isRecord(given)) return readParts(given);
  const { choices, output, content, text, tool_calls: snake, toolCalls: camel } = given;
  if (Array.isArray(choices)) {
    const [choice] = choices as unknown[];
    return isRecord(choice) ? contentOf(isRecord(choice.message) ? choice.message : choice) : undefined;
  }
  // The AI SDK has `output` too: the requested object. The `text` of a Responses answer is a setting: its format.
  if (Array.isArray(output) && content === undefined && typeof text !== 'string') return readParts(output);
  const calls = [snake, camel].find((some) => Array.isArray(some)) as readonly unknown[] | undefined;
  const spoken = readParts(content) ?? readParts(text) ?? readParts(given.refusal);
  if (spoken === undefined && calls === undefined) return undefined;
  const parts = spoken ?? [];
  // LangChain and the AI SDK repeat the calls of the content.
  return parts.some(({ type }) => type === 'tool_call') ? parts : [...parts, ...(calls ?? []).flatMap(partOf)];
}

function partOf(given: unknown): LlmPart[] {
  if (typeof given === 'string') return [{ type: 'text', text: given }];
  if (!isRecord(given)) return [];
  const type = typeof given.type === 'string' ? given.type : 'other';
  if (type === 'message') return readParts(given.content) ?? [];
  if (TEXT_PARTS.has(type)) {
    const text = firstOf(given, TEXTS, isText);
    return text === undefined ? [] : [{ type: 'text', text }];
  }
  if (!CALL_PARTS.has(type)) return [{ ...given, type }];
  const toolCallId = firstOf(given, CALL_IDS, isText);
  const args = parsedArguments(first(given, CALL_ARGUMENTS));
  return [
    {
      type: 'tool_call',
      ...(toolCallId === undefined ? {} : { toolCallId }),
      toolName: firstOf(given, CALL_NAMES, isText) ?? '',
      ...(args === undefined ? {} : { args }),
    },
  ];
}

function modelOf(given: unknown): ModelInfo | undefined {
  if (typeof given === 'string') return given === '' ? undefined : { name: given };
  if (!isRecord(given)) return undefined;
  const name = given.name ?? given.modelId;
  if (typeof name !== 'string' || name === '') return undefined;
  return { name, ...(typeof given.provider === 'string' ? { provider: given.provider } : {}) };
}

function numbers(
  given: Readonly<Record<'durationMs' | 'costUsd' | 'confidence', unknown>>,
): Pick<LlmResponse, 'durationMs' | 'costUsd' | 'confidence'> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => isNumber(value)));
}

function first(given: Readonly<Record<string, unknown>>, places: readonly string[]): unknown {
  return firstOf(given, places, (value): value is unknown => value != null);
}

/** The value at the first path, such as `response.modelId`, that has the right type. */
function firstOf<T>(
  given: Readonly<Record<string, unknown>>,
  places: readonly string[],
  is: (value: unknown) => value is T,
): T | undefined {
  for (const place of places) {
    let value: unknown = given;
    for (const name of place.split('.')) value = isRecord(value) ? value[name] : undefined;
    if (is(value)) return value;
  }
  return undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isCount(value: unknown): value is number {
  return isNumber(value) && value >= 0;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
