import type { Usage } from '@agentlens/contracts';
import type { ModelPrice, Provider } from '@pydantic/genai-prices';

type ModelPrices = Provider['models'][number]['prices'];
type Rate = NonNullable<ModelPrice[string]>;

/** A price that is computed here. */
export interface PlainPrice {
  readonly usd: number;
  readonly rates: ModelPrice;
}

/**
 * Prices calls with plain text tokens as the library does, which examines every kind of unit for every call and takes
 * fifty times as long. Everything else is left to the library: other kinds of tokens, prices by the time of day, counts
 * that contradict each other. A property test compares the two for every model of the table.
 */
export type PlainPricing = (usage: Usage, atMs: number) => PlainPrice | undefined;

/** Returns undefined if the library has to price every call of the model. */
export function readPlainPricing(prices: ModelPrices): PlainPricing | undefined {
  if (!Array.isArray(prices)) {
    const compute = readRates(prices);
    return compute && ((usage) => compute(usage));
  }
  const periods: { readonly fromMs: number; readonly compute: (usage: Usage) => PlainPrice | undefined }[] = [];
  for (const { constraint, prices: rates } of prices) {
    const compute = readRates(rates);
    if (compute === undefined || (constraint !== undefined && constraint.type !== 'start_date')) return undefined;
    const fromMs = constraint === undefined ? Number.NEGATIVE_INFINITY : Date.parse(constraint.start_date);
    periods.push({ fromMs, compute });
  }
  // The last period that has begun counts, and before all of them the first.
  return (usage, atMs) => {
    if (Number.isNaN(atMs)) return undefined;
    return (periods.findLast(({ fromMs }) => atMs >= fromMs) ?? periods[0])?.compute(usage);
  };
}

/** Rates of units that a call with plain text tokens does not contain. */
const UNUSED: ReadonlySet<string> = new Set([
  ...['cache_write_1h_mtok', 'output_reasoning_mtok', 'web_searches_kcount', 'storage_searches_kcount'],
  ...['input_audio_mtok', 'output_audio_mtok', 'cache_audio_read_mtok'],
]);

function readRates(rates: ModelPrice): ((usage: Usage) => PlainPrice | undefined) | undefined {
  const { input_mtok: input, output_mtok: output, cache_read_mtok: read, cache_write_mtok: write } = rates;
  if (input === undefined || output === undefined) return undefined;
  // Otherwise reasoning costs what other output costs.
  const pricesReasoning = rates.output_reasoning_mtok !== undefined;
  const kinds: ('input' | 'read' | 'write')[] = [];
  for (const [name, rate] of Object.entries(rates)) {
    if (rate === undefined) continue;
    if (name === 'input_mtok') kinds.push('input');
    else if (name === 'cache_read_mtok') kinds.push('read');
    else if (name === 'cache_write_mtok') kinds.push('write');
    else if (name !== 'output_mtok' && !UNUSED.has(name)) return undefined;
  }
  return (usage) => {
    if (!isPlain(usage) || (pricesReasoning && !isNone(usage.reasoningTokens))) return undefined;
    const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
    const fresh =
      inputTokens - ((read === undefined ? 0 : cacheReadTokens) + (write === undefined ? 0 : cacheWriteTokens));
    if (fresh < 0) return undefined;
    let usd = 0;
    // In the order in which the library adds, so that the last digit is the same.
    for (const kind of kinds) {
      if (kind === 'input') usd += cost(input, fresh, inputTokens);
      else if (kind === 'read') usd += cost(read, cacheReadTokens, inputTokens);
      else usd += cost(write, cacheWriteTokens, inputTokens);
    }
    return { usd: usd + cost(output, outputTokens, inputTokens), rates };
  };
}

const PER = 1e6;

/** @param input all input tokens of the call, which decide about the tier */
function cost(rate: Rate | undefined, tokens: number, input: number): number {
  if (rate === undefined) return 0;
  if (typeof rate === 'number') return (rate * tokens) / PER;
  let reached = rate.base;
  let from = Number.NEGATIVE_INFINITY;
  for (const { start, price } of rate.tiers) {
    if (input <= start || start < from) continue;
    [reached, from] = [price, start];
  }
  return (((reached * tokens) / PER) * PER) / PER;
}

function isPlain(usage: Usage): boolean {
  return (
    isCount(usage.inputTokens) &&
    isCount(usage.outputTokens) &&
    isCount(usage.cacheReadTokens) &&
    isCount(usage.cacheWriteTokens) &&
    isNone(usage.cacheWrite1hTokens) &&
    isNone(usage.audioInputTokens) &&
    isNone(usage.audioOutputTokens)
  );
}

function isCount(count: number | undefined): boolean {
  return count === undefined || (Number.isSafeInteger(count) && count >= 0);
}

function isNone(count: number | undefined): boolean {
  return count === undefined || count === 0;
}
