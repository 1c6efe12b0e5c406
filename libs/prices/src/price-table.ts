import type { PriceBook, PricedCall, Quote, UnpricedReason, Usage } from '@agentlens/contracts';
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
import { tierFactor } from './service-tiers.ts';
import type { TableFile } from './table-file.ts';

/** The table that comes with the package. A test compares both with the installed package. */
export const SHIPPED_TABLE = { version: '0.1.8', publishedAt: '2026-09-23' } as const;

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
}

/**
 * Prices of models by provider, from the table that comes with the package or a newer one that an operator loaded.
 * Nothing is fetched while running. The package keeps one table per process.
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
    // The schema bounds sizes; the package checks the rest of its own format.
    const providers = file as unknown as Provider[];
    updatePrices(({ setProviderData }: { setProviderData: (data: Provider[]) => void }) => setProviderData(providers));
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
      if (factor !== undefined) return { costUsd: usd * factor, priceRef: `table@${this.#version}` };
    }
    const estimateUsd = this.#estimate(call, typeof listed === 'string' ? undefined : listed.providerId, atMs);
    return { unpriced: reason ?? 'service_tier', ...(estimateUsd === undefined ? {} : { estimateUsd }) };
  }

  /**
   * The listed standard price of a call. If the table does not know the provider, or the provider does not list the
   * model, the price of the model's maker applies.
   */
  listed({ model, provider, usage, atMs }: PricedCall): ListedPrice | UnpricedReason {
    const tokens = tokensOf(usage);
    const timestamp = new Date(atMs);
    const names = this.#listedNames(model, provider);
    for (const { modelId, provider: found } of names) {
      const price = priceOf(tokens, modelId, { provider: found, timestamp });
      if (price !== undefined) return price;
    }
    return names.length === 0 ? 'unknown_model' : 'invalid_counts';
  }

  /** Looking a name up scans the whole table, so the names that it lists are remembered, also if there are none. */
  #listedNames(model: string, provider: string | undefined): readonly ListedName[] {
    return remembered(this.#listed, JSON.stringify([provider, model]), () =>
      modelNames(model, provider).flatMap((name) => listedName(name) ?? []),
    );
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
  const [first = ''] = model.split('/', 1);
  return SELF_HOSTED.has(provider?.toLowerCase() ?? '') || (first !== model && SELF_HOSTED.has(first.toLowerCase()));
}

/** The provider that the model's name or the client names, by its id in the table. */
export function hostOf(model: string, provider: string | undefined): string | undefined {
  return modelNames(model, provider)
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
  return tokens;
}

/** Kinds of tokens that cost something else than the kind that contains them, so that they need a rate of their own. */
const NEED_RATES = [
  ['audioInputTokens', 'input_audio_mtok', 'audio'],
  ['audioOutputTokens', 'output_audio_mtok', 'audio'],
  ['cacheWrite1hTokens', 'cache_write_1h_mtok', 'cache_write_1h'],
] as const;

function unpriceable(rates: ModelPrice, usage: Usage): UnpricedReason | undefined {
  return NEED_RATES.find(([kind, rate]) => (usage[kind] ?? 0) > 0 && rates[rate] === undefined)?.[2];
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
}

function listedName(name: ModelName): ListedName | undefined {
  const { modelId, ...of } = optionsOf(name);
  const found = calculated(NO_TOKENS, modelId, { ...of, timestamp: new Date() });
  if (found == null) return undefined;
  const { fallback_model_providers: _, ...provider } = found.provider;
  const { model } = found;
  return { modelId: model.id, provider: { ...provider, models: [{ ...model, match: { equals: model.id } }] } };
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
