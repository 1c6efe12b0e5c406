import type { Usage } from '../../events.ts';
import { isObject, objectAt } from './attributes.ts';
import type { Attributes } from './span.ts';

/** More than this is a mistake that would spoil every total it is added to. */
const MOST_COUNT = 1e12;
const MOST_USD = 100_000;

/** Cached tokens are inside these, in every source. */
const INPUT = [
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.prompt_tokens',
  'llm.token_count.prompt',
  'llm.usage.prompt_tokens',
  'ai.usage.inputTokens',
  'ai.usage.promptTokens',
  'ai.usage.tokens',
];
/** Reasoning is inside these. */
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
];
const CACHE_WRITE = [
  'gen_ai.usage.cache_write.input_tokens',
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.cache_write_input_tokens',
  'llm.token_count.prompt_details.cache_write',
  'ai.usage.inputTokenDetails.cacheWriteTokens',
];
/** A part of the cache writes. */
const CACHE_WRITE_1H = [
  'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens',
  'gen_ai.usage.cache_creation.1h_input_tokens',
];
const REASONING = [
  'gen_ai.usage.reasoning.output_tokens',
  'gen_ai.usage.reasoning_tokens',
  'gen_ai.usage.details.reasoning_tokens',
  'llm.token_count.completion_details.reasoning',
  'ai.usage.outputTokenDetails.reasoningTokens',
  'ai.usage.reasoningTokens',
];
const SENT_TOTAL = [
  'gen_ai.usage.total_tokens',
  'llm.usage.total_tokens',
  'llm.token_count.total',
  'ai.usage.totalTokens',
];
const COST = ['gen_ai.usage.cost', 'llm.cost.total', 'operation.cost'];

/** The tokens of one model call. `usage` is undefined where none is reported. */
export interface Tokens {
  readonly usage: Usage | undefined;
  readonly reasoningTokens: number | undefined;
  readonly cacheWrite1hTokens: number | undefined;
  /** As sent, USD. */
  readonly costUsd: number | undefined;
  /** As sent, where it is not the sum of input and output. */
  readonly sentTotal: number | undefined;
  /** The source counted cached tokens beside the input; they were added. */
  readonly mended: boolean;
}

/**
 * Reads the tokens of a model call. A source that sends one number under two names is read once. Never of any other span:
 * agents and steps repeat or add up what their model calls say.
 */
export function tokensOf(attributes: Attributes): Tokens {
  const sent = first(attributes, INPUT);
  const output = first(attributes, OUTPUT);
  const details = langSmithDetails(attributes);
  const read = first(attributes, CACHE_READ) ?? details.read;
  const write = first(attributes, CACHE_WRITE) ?? details.write;
  const cached = (read ?? 0) + (write ?? 0);
  const mended = sent !== undefined && cached > sent;
  const input = mended ? sent + cached : sent;
  const total = input === undefined && output === undefined ? undefined : (input ?? 0) + (output ?? 0);
  const sentTotal = first(attributes, SENT_TOTAL);
  return {
    usage: total === undefined ? undefined : countsOf({ input, output, total, read, write }),
    reasoningTokens: first(attributes, REASONING),
    cacheWrite1hTokens: first(attributes, CACHE_WRITE_1H),
    costUsd: costOf(attributes),
    sentTotal: sentTotal === total ? undefined : sentTotal,
    mended,
  };
}

function countsOf(counts: Record<'input' | 'output' | 'total' | 'read' | 'write', number | undefined>): Usage {
  const usage: Usage = {};
  if (counts.input !== undefined) usage.inputTokens = counts.input;
  if (counts.output !== undefined) usage.outputTokens = counts.output;
  if (counts.total !== undefined) usage.totalTokens = counts.total;
  if (counts.read !== undefined) usage.cacheReadTokens = counts.read;
  if (counts.write !== undefined) usage.cacheWriteTokens = counts.write;
  return usage;
}

/** LangSmith has cached tokens in a JSON text alone. */
function langSmithDetails(attributes: Attributes): { read: number | undefined; write: number | undefined } {
  const { input_token_details: details } = objectAt(attributes, 'langsmith.metadata.usage_metadata');
  if (!isObject(details)) return { read: undefined, write: undefined };
  return { read: count(details.cache_read), write: count(details.cache_creation) };
}

function costOf(attributes: Attributes): number | undefined {
  for (const name of COST) {
    const usd = amount(attributes.get(name), MOST_USD);
    if (usd !== undefined) return usd;
  }
  return amount(objectAt(attributes, 'langfuse.observation.cost_details').total, MOST_USD);
}

function first(attributes: Attributes, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = count(attributes.get(name));
    if (value !== undefined) return value;
  }
  return undefined;
}

function count(value: unknown): number | undefined {
  const known = amount(value, MOST_COUNT);
  return known === undefined ? undefined : Math.round(known);
}

/** Numbers, and texts of digits: some SDKs set every attribute as a text. */
function amount(value: unknown, most: number): number | undefined {
  const number = typeof value === 'string' && /^\d+(\.\d+)?(e[+-]?\d{1,3})?$/i.test(value) ? Number(value) : value;
  return typeof number === 'number' && number >= 0 && number <= most ? number : undefined;
}
