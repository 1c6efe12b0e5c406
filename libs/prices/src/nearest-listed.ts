import type { PriceRates } from '@agentlens/contracts';
import { findProvider, type ModelPrice } from '@pydantic/genai-prices';
import { modelNames } from './model-names.ts';
import { baseRate, hostOf, type PriceTable } from './price-table.ts';

/** Names with fewer leading characters in common are not alike. */
const MIN_COMMON_CHARS = 5;

/** An own price proposed for a model without one. */
interface ProposedPrice {
  readonly provider?: string;
  readonly rates: PriceRates;
  /** `provider/model` of the listed model that the rates come from. */
  readonly basedOn: string;
}

/**
 * The listed price of the model of the same provider whose name begins most alike, as a proposal for a person to check.
 * Undefined if the provider or a similar name is not listed.
 */
export function nearestListed(
  table: PriceTable,
  { model, provider }: { readonly model: string; readonly provider: string },
  atMs: number,
): ProposedPrice | undefined {
  const named = [model.toLowerCase(), provider === 'unknown' ? undefined : provider] as const;
  const names = modelNames(...named);
  const providerId = hostOf(...named) ?? table.providerOf(model);
  if (providerId === undefined) return undefined;
  let best: { readonly id: string; readonly common: number } | undefined;
  for (const { id } of findProvider({ providerId })?.models ?? []) {
    const common = Math.max(...names.map(({ modelId }) => commonStart(id, modelId)));
    if (common >= MIN_COMMON_CHARS && common > (best?.common ?? 0)) best = { id, common };
  }
  if (best === undefined) return undefined;
  const listed = table.listed({ model: best.id, provider: providerId, usage: {}, atMs });
  const rates = typeof listed === 'string' ? undefined : ratesOf(listed.rates);
  return rates && { rates, basedOn: `${providerId}/${best.id}`, ...(provider === 'unknown' ? {} : { provider }) };
}

function commonStart(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

const RATES = [
  ['cacheRead', 'cache_read_mtok'],
  ['cacheWrite', 'cache_write_mtok'],
  ['cacheWrite1h', 'cache_write_1h_mtok'],
  ['audioInput', 'input_audio_mtok'],
  ['audioOutput', 'output_audio_mtok'],
] as const;

/** The base rates of a listed price; undefined if it does not charge by text tokens. */
function ratesOf(listed: ModelPrice): PriceRates | undefined {
  const input = baseRate(listed.input_mtok);
  const output = baseRate(listed.output_mtok);
  if (input === undefined || output === undefined) return undefined;
  const rates: PriceRates = { input, output };
  for (const [kind, name] of RATES) {
    const rate = baseRate(listed[name]);
    if (rate !== undefined) rates[kind] = rate;
  }
  return rates;
}
