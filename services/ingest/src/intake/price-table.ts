import type { PriceBook, PricedCall } from '@agentlens/contracts';
import { BoundedMap } from '@agentlens/state';
import { calcPrice, findProvider } from '@pydantic/genai-prices';
import { type BilledTokens, billedTokens } from './billed-tokens.ts';
import { type ModelName, modelNames } from './model-names.ts';

/** Bounds the memory that a client can take by inventing names of models. */
const MAX_REMEMBERED_MODELS = 2_000;

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

/** Prices from the table that comes with the package; nothing is fetched while running. */
export class PriceTable implements PriceBook {
  readonly #providers = new BoundedMap<string | undefined>(MAX_REMEMBERED_MODELS);
  readonly #listed = new BoundedMap<readonly ModelName[]>(MAX_REMEMBERED_MODELS);

  providerOf(model: string): string | undefined {
    if (this.#providers.has(model)) return this.#providers.get(model);
    const provider = modelNames(model, undefined)
      .map((name) => findProvider(optionsOf(name))?.id)
      .find((id) => id !== undefined);
    this.#providers.set(model, provider);
    return provider;
  }

  /**
   * If the table does not know the provider, or the provider does not list the model, the price of the model's maker
   * applies. A model on a server that people run themselves has no price.
   */
  costOf(call: PricedCall): number | undefined {
    const { model, provider, atMs, serviceTier } = call;
    if (isSelfHosted(model, provider)) return undefined;
    const tokens = billedTokens(call);
    const timestamp = new Date(atMs);
    for (const name of this.#listedNames(model, provider)) {
      const price = priceOf(tokens, name, timestamp);
      if (price === undefined) continue;
      const factor = tierFactor(serviceTier, price.providerId, price.modelId);
      return factor === undefined ? undefined : price.usd * factor;
    }
    return undefined;
  }

  /** Looking a name up scans the whole table, so the names that it lists are remembered, also if there are none. */
  #listedNames(model: string, provider: string | undefined): readonly ModelName[] {
    const key = JSON.stringify([provider, model]);
    const known = this.#listed.get(key);
    if (known !== undefined) return known;
    const names = modelNames(model, provider).filter((name) => priceOf(NO_TOKENS, name, new Date()) !== undefined);
    this.#listed.set(key, names);
    return names;
  }
}

function isSelfHosted(model: string, provider: string | undefined): boolean {
  const [first = ''] = model.split('/', 1);
  return SELF_HOSTED.has(provider?.toLowerCase() ?? '') || (first !== model && SELF_HOSTED.has(first.toLowerCase()));
}

const NO_TOKENS: BilledTokens = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 };

interface Price {
  readonly usd: number;
  readonly providerId: string;
  readonly modelId: string;
}

function priceOf(tokens: BilledTokens, name: ModelName, timestamp: Date): Price | undefined {
  try {
    const { modelId, ...provider } = optionsOf(name);
    const result = calcPrice({ ...tokens }, modelId, { timestamp, ...provider });
    if (result == null) return undefined;
    return { usd: result.total_price, providerId: result.provider.id, modelId: result.model.id };
  } catch {
    // The table throws for a kind of token it has no price for. The event is fine; it has no known price.
    return undefined;
  }
}

function optionsOf({ modelId, providerId }: ModelName): { modelId: string; providerId?: string } {
  return providerId === undefined ? { modelId } : { modelId, providerId };
}

const STANDARD_TIERS: ReadonlySet<string> = new Set(['', 'default', 'standard', 'standard_only', 'auto', 'on_demand']);

/** Half price for results within a day: the pricing pages of OpenAI, Anthropic and the Gemini API. */
const BATCH_AT_HALF_PRICE: ReadonlySet<string> = new Set(['openai', 'anthropic', 'google']);

/** Priority prices of OpenAI divided by its standard prices (openai.com/api-priority-processing). */
const OPENAI_PRIORITY: Readonly<Record<string, number>> = {
  'gpt-5.5': 2.5,
  'gpt-5.4': 2,
  'gpt-5.4-mini': 2,
  'gpt-5.2': 2,
  'gpt-5.1': 2,
  'gpt-5.1-codex': 2,
  'gpt-5': 2,
  'gpt-5-codex': 2,
  'gpt-5-mini': 1.8,
  'gpt-4.1': 1.75,
  'gpt-4.1-mini': 1.75,
  'gpt-4.1-nano': 2,
  'gpt-4o': 1.7,
  'gpt-4o-mini': 5 / 3,
  o3: 1.75,
  'o4-mini': 2 / 1.1,
};

/** What a tier costs relative to the standard price, or undefined if that is not known. */
function tierFactor(tier: string | undefined, providerId: string, modelId: string): number | undefined {
  const name = tier?.toLowerCase() ?? '';
  if (STANDARD_TIERS.has(name)) return 1;
  if (name === 'batch') return BATCH_AT_HALF_PRICE.has(providerId) ? 0.5 : undefined;
  if (providerId !== 'openai') return undefined;
  if (name === 'flex') return 0.5;
  return name === 'priority' && Object.hasOwn(OPENAI_PRIORITY, modelId) ? OPENAI_PRIORITY[modelId] : undefined;
}
