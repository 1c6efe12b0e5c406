import {
  canonicalProvider,
  type PriceBook,
  type PricedCall,
  type Quote,
  type UnpricedReason,
  type Usage,
} from '@agentlens/contracts';
import {
  calcPrice,
  findProvider,
  type ModelPrice,
  type PriceCalculationResult,
  type PriceOptions,
  type Provider,
  updatePrices,
} from '@pydantic/genai-prices';
import { type ModelName, modelNames } from './model-names.ts';
import { type PlainPricing, readPlainPricing } from './plain-price.ts';
import { SHIPPED_PROVIDERS, SHIPPED_TABLE } from './generated/shipped-table.ts';
import { tierFactor } from './service-tiers.ts';
import type { TableFile } from './table-file.ts';

/** Bounds the memory that a client can take by inventing names of models. */
const MAX_REMEMBERED_NAMES = 2_000;

/** Servers that people run themselves. No vendor's price applies to a model on one. */
const SELF_HOSTED: ReadonlySet<string> = new Set([
  'ollama',
  'ollama_chat',
  'vllm',
  'hosted_vllm',
  'lmstudio',
  'lm_studio',
  'llamafile',
  'llama.cpp',
  'localai',
  'sglang',
]);

/** A price that the table lists for one call. */
export interface ListedPrice {
  readonly usd: number;
  readonly providerId: string;
  readonly modelId: string;
  /** USD per million tokens by kind, as the table writes it: `input_mtok`, `output_mtok`, … */
  readonly rates: ModelPrice;
  /** True if the table lists the model without the date in its id. */
  readonly isOtherDate?: true;
}

/**
 * Prices of models by provider, from the table that comes with the release or a newer one that an operator loaded.
 * Nothing is fetched while running. The library keeps one table per process.
 */
export class PriceTable implements PriceBook {
  #version: string = SHIPPED_TABLE.version;
  #providers = new Map<string, string | undefined>();
  #listed = new Map<string, readonly ListedName[]>();
  #dearest = new Map<string, string | undefined>();

  get version(): string {
    return this.#version;
  }

  /** Replaces the table. @throws Error if the package cannot read it */
  load(version: string, file: TableFile): void {
    // The schema bounds sizes; the library checks the rest of its own format.
    useProviders(file as unknown as Provider[]);
    this.#version = version;
    for (const memory of [this.#providers, this.#listed, this.#dearest]) memory.clear();
  }

  providerOf(model: string): string | undefined {
    return remembered(this.#providers, model, () =>
      modelNames(model, undefined)
        .map((name) => findProvider(optionsOf(name))?.id)
        .find((id) => id !== undefined),
    );
  }

  quote(call: PricedCall): Quote {
    const { model, provider, usage, atMs } = call;
    if (isSelfHosted(model, provider)) return { unpriced: 'self_hosted' };
    const listed = this.listed(call);
    const reason = typeof listed === 'string' ? listed : unpriceable(listed.rates, usage);
    if (reason === undefined) {
      const { usd, providerId, modelId } = listed as ListedPrice;
      const factor = tierFactor(usage.serviceTier, providerId, modelId);
      if (factor !== undefined) return this.#buildQuote(listed as ListedPrice, usd * factor, usage);
    }
    const estimateUsd = this.#estimate(call, typeof listed === 'string' ? undefined : listed.providerId, atMs);
    return { unpriced: reason ?? 'service_tier', ...(estimateUsd === undefined ? {} : { estimateUsd }) };
  }

  /** Fees do not follow the tier: vendors list no other price for them. */
  #buildQuote({ rates, isOtherDate }: ListedPrice, tokensUsd: number, usage: Usage): Quote {
    const feesUsd = searchFees(rates, usage) ?? 0;
    const approximation = isOtherDate ? 'dated_model' : isSplitUnknown(usage) ? 'cached_audio' : undefined;
    return {
      costUsd: tokensUsd + feesUsd,
      priceRef: `table@${this.#version}`,
      ...(feesUsd === 0 ? {} : { feesUsd }),
      ...(approximation === undefined ? {} : { approximation }),
    };
  }

  /**
   * The listed standard price of a call, without fees. If the table does not know the provider, or the provider does not list the
   * model, the price of the model's maker applies.
   */
  listed({ model, provider, usage, atMs }: PricedCall): ListedPrice | UnpricedReason {
    const names = this.#listedNames(model, provider);
    for (const name of names) {
      const price = priceOfListed(name, usage, atMs);
      if (price !== undefined) return name.isOtherDate ? { ...price, isOtherDate: true } : price;
    }
    return names.length === 0 ? 'unknown_model' : 'invalid_counts';
  }

  /** Fees for the searches of a call; none if the table lists none for the model. */
  findFees(call: PricedCall): { readonly feesUsd?: number } {
    const { webSearches = 0, fileSearches = 0 } = call.usage;
    if (webSearches + fileSearches === 0) return {};
    const listed = this.listed(call);
    const feesUsd = typeof listed === 'string' ? undefined : searchFees(listed.rates, call.usage);
    return feesUsd === undefined ? {} : { feesUsd };
  }

  /** Looking a name up scans the whole table, so the names that it lists are remembered, also if there are none. */
  #listedNames(model: string, provider: string | undefined): readonly ListedName[] {
    // The length of the provider shows where the model begins.
    const key = provider === undefined ? `/${model}` : `${provider.length}/${provider}${model}`;
    return remembered(this.#listed, key, () => {
      const host = provider === undefined ? undefined : canonicalProvider(provider);
      const names = modelNames(model, host).flatMap((name) => listedName(name) ?? []);
      if (names.length > 0) return names;
      const undated = withoutDate(model);
      if (undated === undefined) return [];
      const alike = modelNames(undated, host).flatMap((name) => listedName(name) ?? []);
      return alike.map((name) => ({ ...name, isOtherDate: true as const }));
    });
  }

  /** The price of the dearest model of the call's provider; undefined if the table does not know the provider. */
  #estimate(call: PricedCall, listed: string | undefined, atMs: number): number | undefined {
    const { model, provider, usage } = call;
    const providerId = listed ?? hostOf(model, provider) ?? this.providerOf(model);
    if (providerId === undefined) return undefined;
    const modelId = remembered(this.#dearest, providerId, () => dearestOf(providerId, atMs));
    if (modelId === undefined) return undefined;
    // As text, because the dearest model need not have a price for audio or for writes that live for an hour.
    const text = { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens };
    return priceOf(tokensOf(text), modelId, { providerId, timestamp: new Date(atMs) })?.usd;
  }
}

function isSelfHosted(model: string, provider: string | undefined): boolean {
  if (provider !== undefined && SELF_HOSTED.has(provider.toLowerCase())) return true;
  const slash = model.indexOf('/');
  return slash >= 0 && SELF_HOSTED.has(model.slice(0, slash).toLowerCase());
}

/** The provider that the model's name or the client names, by its id in the table. */
export function hostOf(model: string, provider: string | undefined): string | undefined {
  return modelNames(model, provider === undefined ? undefined : canonicalProvider(provider))
    .flatMap(({ providerId }) => (providerId === undefined ? [] : [findProvider({ providerId })?.id]))
    .find((id) => id !== undefined);
}

/** The model whose million tokens, one fifth of them output, costs most. */
function dearestOf(providerId: string, atMs: number): string | undefined {
  const { models = [] } = findProvider({ providerId }) ?? {};
  const timestamp = new Date(atMs);
  let dearest: { readonly id: string; readonly usd: number } | undefined;
  for (const { id } of models) {
    const usd = priceOf(SAMPLE_TOKENS, id, { providerId, timestamp })?.usd ?? 0;
    if (usd > (dearest?.usd ?? 0)) dearest = { id, usd };
  }
  return dearest?.id;
}

function useProviders(providers: Provider[]): void {
  updatePrices(({ setProviderData }: { setProviderData: (data: Provider[]) => void }) => setProviderData(providers));
}

// The library has a table of its own, which is older.
useProviders(JSON.parse(SHIPPED_PROVIDERS) as Provider[]);

type TableTokens = Readonly<Record<string, number>>;
const NO_TOKENS: TableTokens = { input_tokens: 0, output_tokens: 0 };
const SAMPLE_TOKENS: TableTokens = { input_tokens: 8_000, output_tokens: 2_000 };

/** Optional kinds of tokens, by their names in the table. */
const KINDS = [
  ['cacheReadTokens', 'cache_read_tokens'],
  ['cacheWriteTokens', 'cache_write_tokens'],
  ['cacheWrite1hTokens', 'cache_write_1h_tokens'],
  ['reasoningTokens', 'output_reasoning_tokens'],
  ['audioInputTokens', 'input_audio_tokens'],
  ['audioOutputTokens', 'output_audio_tokens'],
] as const;

function tokensOf(usage: Usage): TableTokens {
  const tokens: Record<string, number> = {
    input_tokens: usage.inputTokens ?? 0,
    output_tokens: usage.outputTokens ?? 0,
  };
  for (const [kind, name] of KINDS) {
    const count = usage[kind] ?? 0;
    if (count > 0) tokens[name] = count;
  }
  const cachedAudio = countCachedAudio(usage);
  // The table refuses counts of cached tokens and of audio without their overlap.
  if (cachedAudio !== undefined) tokens.cache_audio_read_tokens = cachedAudio;
  return tokens;
}

/**
 * The audio among the cached tokens. Without a count of its own, cached tokens hold as much audio as the whole input,
 * within what the other counts allow. Undefined if there is no audio or nothing cached.
 */
export function countCachedAudio(usage: Usage): number | undefined {
  const { inputTokens: input = 0, audioInputTokens: audio = 0, cacheReadTokens: read = 0 } = usage;
  if (audio === 0 || read === 0) return undefined;
  const most = Math.min(audio, read);
  const least = Math.min(most, Math.max(0, audio + read + (usage.cacheWriteTokens ?? 0) - input));
  const likely = usage.cacheReadAudioTokens ?? Math.round((read * audio) / Math.max(input, 1));
  return Math.min(most, Math.max(least, likely));
}

function isSplitUnknown(usage: Usage): boolean {
  return usage.cacheReadAudioTokens === undefined && countCachedAudio(usage) !== undefined;
}

/** USD per thousand searches, by their names in the table. */
const FEES = [
  ['webSearches', 'web_searches_kcount'],
  ['fileSearches', 'storage_searches_kcount'],
] as const;

/** Fees for searches that the provider ran; undefined if the table lists none for the model. */
function searchFees(rates: ModelPrice, usage: Usage): number | undefined {
  if ((usage.webSearches ?? 0) + (usage.fileSearches ?? 0) === 0) return 0;
  let usd = 0;
  for (const [kind, name] of FEES) {
    const count = usage[kind] ?? 0;
    if (count === 0) continue;
    const rate = baseRate(rates[name]);
    if (rate === undefined) return undefined;
    usd += (count * rate) / 1_000;
  }
  return usd;
}

/** The rate of a listed price before its tiers. */
export function baseRate(price: ModelPrice[string]): number | undefined {
  return typeof price === 'number' ? price : price?.base;
}

/** `gpt-5.6-2026-11-20` as `gpt-5.6`, also with a date as eight digits; undefined if the name ends without a date. */
function withoutDate(model: string): string | undefined {
  const name = model.replace(/[-@:](?:20\d\d-\d\d-\d\d|20\d{6})$/, '');
  return name === model || name === '' ? undefined : name;
}

/** Kinds of tokens that cost something else than the kind that contains them, so that they need a rate of their own. */
const NEED_RATES = [
  ['audioInputTokens', 'input_audio_mtok', 'audio'],
  ['audioOutputTokens', 'output_audio_mtok', 'audio'],
  ['cacheWrite1hTokens', 'cache_write_1h_mtok', 'cache_write_1h'],
] as const;

function unpriceable(rates: ModelPrice, usage: Usage): UnpricedReason | undefined {
  const without = NEED_RATES.find(([kind, rate]) => (usage[kind] ?? 0) > 0 && rates[rate] === undefined)?.[2];
  return without ?? (searchFees(rates, usage) === undefined ? 'searches' : undefined);
}

function priceOfListed(
  { modelId, provider, plain }: ListedName,
  usage: Usage,
  atMs: number,
): Omit<ListedPrice, 'isOtherDate'> | undefined {
  const price = plain?.(usage, atMs);
  if (price !== undefined) return { ...price, providerId: provider.id, modelId };
  return priceOf(tokensOf(usage), modelId, { provider, timestamp: new Date(atMs) });
}

function priceOf(tokens: TableTokens, modelId: string, options: PriceOptions): ListedPrice | undefined {
  const result = calculated(tokens, modelId, options);
  if (result == null) return undefined;
  const { total_price: usd, provider: from, model, model_price: rates } = result;
  return { usd, providerId: from.id, modelId: model.id, rates };
}

function calculated(tokens: TableTokens, modelId: string, options: PriceOptions): PriceCalculationResult {
  try {
    return calcPrice({ ...tokens }, modelId, options);
  } catch {
    // The table throws for counts that contradict each other. The event is fine; it has no known price.
    return null;
  }
}

/** A name that the table lists, with a provider that has only this model, so that a price needs no search. */
interface ListedName {
  readonly modelId: string;
  readonly provider: Provider;
  /** Absent if only the library prices the model. */
  readonly plain?: PlainPricing | undefined;
  readonly isOtherDate?: true;
}

function listedName(name: ModelName): ListedName | undefined {
  const { modelId, ...of } = optionsOf(name);
  const found = calculated(NO_TOKENS, modelId, { ...of, timestamp: new Date() });
  if (found == null) return undefined;
  const { fallback_model_providers: _, ...provider } = found.provider;
  const { model } = found;
  const only = { ...provider, models: [{ ...model, match: { equals: model.id } }] };
  return { modelId: model.id, provider: only, plain: readPlainPricing(model.prices) };
}

function optionsOf({ modelId, providerId }: ModelName): { modelId: string; providerId?: string } {
  return providerId === undefined ? { modelId } : { modelId, providerId };
}

/** Looks up or computes an entry; forgets the oldest when the memory is full. */
export function remembered<T>(memory: Map<string, T>, key: string, compute: () => T): T {
  if (memory.has(key)) return memory.get(key) as T;
  const value = compute();
  if (memory.size >= MAX_REMEMBERED_NAMES) memory.delete(memory.keys().next().value as string);
  memory.set(key, value);
  return value;
}
