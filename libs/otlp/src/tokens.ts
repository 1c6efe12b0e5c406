import type { Usage } from '@agentlens/contracts';
import { isObject, objectAt, present } from './attributes.ts';
import { readProviderUsage } from './provider-usage.ts';
import type { Attributes, OtlpSpan } from './span.ts';
import { USAGE_SOURCES } from './usage-sources.ts';

/** Larger numbers are mistakes that would corrupt every total they are added to. */
const MAX_COUNT = 1e12;
const MAX_USD = 100_000;

/** Include cached tokens, except in the sources of `COUNT_CACHED_BESIDE`. */
const INPUT = [
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.prompt_tokens',
  'llm.token_count.prompt',
  'llm.usage.prompt_tokens',
  'ai.usage.inputTokens',
  'ai.usage.promptTokens',
  'ai.usage.tokens',
];
/** Include reasoning tokens. */
const OUTPUT = [
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.completion_tokens',
  'llm.token_count.completion',
  'llm.usage.completion_tokens',
  'ai.usage.outputTokens',
  'ai.usage.completionTokens',
];
const CACHE_READ = [
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_read_input_tokens',
  'llm.token_count.prompt_details.cache_read',
  'ai.usage.inputTokenDetails.cacheReadTokens',
  'ai.usage.cachedInputTokens',
  'gen_ai.usage.details.cache_read_tokens',
  'gen_ai.usage.details.cache_read_input_tokens',
  'gen_ai.usage.details.cached_tokens',
  'gen_ai.usage.cache_read_tokens',
  'gen_ai.usage.cached_input_tokens',
  'gen_ai.usage.cached_tokens',
  'gen_ai.usage.prompt_tokens_details.cached_tokens',
  'gen_ai.usage.input_tokens_details.cached_tokens',
  'llm.token_count.prompt_details.cache_input',
  'llm.usage.cache_read_input_tokens',
];
const CACHE_WRITE = [
  'gen_ai.usage.cache_write.input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.cache_write_input_tokens',
  'llm.token_count.prompt_details.cache_write',
  'ai.usage.inputTokenDetails.cacheWriteTokens',
  'gen_ai.usage.details.cache_write_tokens',
  'gen_ai.usage.details.cache_creation_input_tokens',
  'gen_ai.usage.cache_write_tokens',
  'gen_ai.usage.cache_creation_tokens',
  'gen_ai.usage.prompt_tokens_details.cache_write_tokens',
  'gen_ai.usage.input_tokens_details.cache_write_tokens',
  'gen_ai.usage.prompt_tokens_details.cache_creation_tokens',
  'llm.usage.cache_creation_input_tokens',
];
/** A part of the cache writes. */
const CACHE_WRITE_1H = [
  'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens',
  'gen_ai.usage.cache_creation.1h_input_tokens',
  'gen_ai.usage.details.cache_write_1h_tokens',
];
const REASONING = [
  'gen_ai.usage.reasoning.output_tokens',
  'gen_ai.usage.reasoning_tokens',
  'gen_ai.usage.details.reasoning_tokens',
  'gen_ai.usage.details.thoughts_tokens',
  'gen_ai.usage.completion_tokens_details.reasoning_tokens',
  'gen_ai.usage.output_tokens_details.reasoning_tokens',
  'llm.token_count.completion_details.reasoning',
  'ai.usage.outputTokenDetails.reasoningTokens',
  'ai.usage.reasoningTokens',
];
const AUDIO_INPUT = [
  'gen_ai.usage.input_audio_tokens',
  'gen_ai.usage.audio.input_tokens',
  'gen_ai.usage.details.input_audio_tokens',
  'gen_ai.usage.prompt_tokens_details.audio_tokens',
  'llm.token_count.prompt_details.audio',
];
const AUDIO_OUTPUT = [
  'gen_ai.usage.output_audio_tokens',
  'gen_ai.usage.audio.output_tokens',
  'gen_ai.usage.details.output_audio_tokens',
  'gen_ai.usage.completion_tokens_details.audio_tokens',
  'llm.token_count.completion_details.audio',
];
const CACHE_READ_AUDIO = [
  'gen_ai.usage.audio.cache_read.input_tokens',
  'gen_ai.usage.details.cache_audio_read_tokens',
  'gen_ai.usage.cache_audio_read_tokens',
];
const WEB_SEARCHES = [
  'gen_ai.usage.server_tool_use.web_search_requests',
  'gen_ai.usage.details.web_search_requests',
  'gen_ai.usage.details.web_searches',
  'gen_ai.usage.web_search_requests',
  'gen_ai.usage.web_searches',
];
const SENT_TOTAL = [
  'gen_ai.usage.total_tokens',
  'llm.usage.total_tokens',
  'llm.token_count.total',
  'ai.usage.totalTokens',
];
const COST = ['gen_ai.usage.cost', 'llm.cost.total', 'operation.cost', 'gen_ai.cost.total_cost'];

/**
 * Instrumentations that pass on the input tokens of a provider that counts cached tokens beside them. Their total shows
 * nothing: it leaves the cached tokens out too.
 */
const COUNT_CACHED_BESIDE = USAGE_SOURCES.flatMap(({ scopes, cachedBeside: models }) =>
  models === undefined ? [] : scopes.map((scope) => ({ scope, models })),
);

/** Whether the instrumentation of a call counts cached tokens beside the input tokens. */
export function countsCachedBeside({ attributes, scope, resource }: OtlpSpan, model = ''): boolean {
  const { name } = scope;
  const isOpenLit = [attributes, resource.attributes].some((all) => all.get('telemetry.sdk.name') === 'openlit');
  return COUNT_CACHED_BESIDE.some((source) => {
    if (!name.startsWith(source.scope) && !(isOpenLit && source.scope === 'openlit')) return false;
    return source.models.some((part) => model.includes(part));
  });
}

/** Tokens of one model call. `usage` is undefined if none is reported. */
export interface Tokens {
  readonly usage: Usage | undefined;
  /** As sent, USD. */
  readonly costUsd: number | undefined;
  /** As sent, if it is not the sum of input and output. */
  readonly sentTotal: number | undefined;
  /** True if the source did not include cached tokens in the input, so that they were added. */
  readonly repaired: boolean;
  /** The tier that served the call, if only the provider's own metadata names it. */
  readonly serviceTier: string | undefined;
}

/**
 * Reads the tokens of a model call. Reads a number that is sent under two names once. Not for other spans: agents and
 * steps repeat or add up the tokens of their model calls.
 * @param isBeside true if the source counts cached tokens beside the input tokens
 */
export function tokensOf(attributes: Attributes, isBeside = false): Tokens {
  const { usage: known, costUsd, serviceTier } = readProviderUsage(attributes);
  if (known === undefined) return { ...countedBy(attributes, isBeside), serviceTier, ...present({ costUsd }) };
  const usage: Usage = { ...known, countsFrom: 'provider' };
  return { usage, costUsd: costUsd ?? costOf(attributes), sentTotal: undefined, repaired: false, serviceTier };
}

function countedBy(attributes: Attributes, isBeside: boolean): Omit<Tokens, 'serviceTier'> {
  const sent = first(attributes, INPUT);
  const output = first(attributes, OUTPUT);
  const details = langSmithDetails(attributes);
  const read = first(attributes, CACHE_READ) ?? details.read;
  const write = first(attributes, CACHE_WRITE) ?? details.write;
  const cached = (read ?? 0) + (write ?? 0);
  const repaired = sent !== undefined && cached > 0 && (isBeside || cached > sent);
  const input = repaired ? sent + cached : sent;
  const total = input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0);
  const sentTotal = first(attributes, SENT_TOTAL);
  const counts = {
    ...{ inputTokens: input, outputTokens: output, totalTokens: total },
    ...{ cacheReadTokens: read, cacheWriteTokens: write, cacheWrite1hTokens: first(attributes, CACHE_WRITE_1H) },
    reasoningTokens: first(attributes, REASONING),
    audioInputTokens: first(attributes, AUDIO_INPUT),
    audioOutputTokens: first(attributes, AUDIO_OUTPUT),
    cacheReadAudioTokens: first(attributes, CACHE_READ_AUDIO),
    webSearches: first(attributes, WEB_SEARCHES),
    countsFrom: repaired ? 'computed' : undefined,
  };
  return {
    usage: total === undefined ? undefined : (present(counts) as Usage),
    costUsd: costOf(attributes),
    sentTotal: sentTotal === total ? undefined : sentTotal,
    repaired,
  };
}

/** LangSmith reports cached tokens only inside a JSON text. */
function langSmithDetails(attributes: Attributes): { read: number | undefined; write: number | undefined } {
  const { input_token_details: details } = objectAt(attributes, 'langsmith.metadata.usage_metadata');
  if (!isObject(details)) return { read: undefined, write: undefined };
  return { read: count(details.cache_read), write: count(details.cache_creation) };
}

function costOf(attributes: Attributes): number | undefined {
  for (const name of COST) {
    const usd = amount(attributes.get(name), MAX_USD);
    if (usd !== undefined) return usd;
  }
  return amount(objectAt(attributes, 'langfuse.observation.cost_details').total, MAX_USD);
}

function first(attributes: Attributes, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = count(attributes.get(name));
    if (value !== undefined) return value;
  }
  return undefined;
}

function count(value: unknown): number | undefined {
  const known = amount(value, MAX_COUNT);
  return known === undefined ? undefined : Math.round(known);
}

/** Reads numbers and numeric text, because some SDKs set every attribute as text. */
function amount(value: unknown, most: number): number | undefined {
  const number = typeof value === 'string' && /^\d+(\.\d+)?(e[+-]?\d{1,3})?$/i.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= most ? number : undefined;
}
