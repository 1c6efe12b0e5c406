import {
  canonicalProvider,
  type PriceBook,
  type PricedCall,
  type PriceOverride,
  type PriceRates,
  type Quote,
  type Usage,
} from '@agentlens/contracts';
import { modelNames } from './model-names.ts';
import { countCachedAudio, type PriceTable, remembered } from './price-table.ts';
import { isStandardTier } from './service-tiers.ts';

/** Names that clients give instead of the provider that bills the call. */
const NAME_NO_HOST: ReadonlySet<string> = new Set(['unknown', 'litellm', 'litellm_proxy', 'gateway', 'vercel']);

/** A tenant's own prices over the table. */
export class OwnPrices implements PriceBook {
  readonly #table: PriceTable;
  readonly #overrides: readonly Prepared[];
  /** Own prices of each model, of any day. A tenant has up to a thousand, and every event asks for some. */
  readonly #ofModel = new Map<string, readonly PriceOverride[]>();

  constructor(table: PriceTable, overrides: readonly PriceOverride[]) {
    this.#table = table;
    this.#overrides = overrides.map(prepared).sort(bySpecificity);
  }

  providerOf(model: string): string | undefined {
    return this.#table.providerOf(model);
  }

  quote(call: PricedCall): Quote {
    const [override] = this.matching(call);
    return override === undefined ? this.#table.quote(call) : this.#own(call, override);
  }

  /** The own prices that match a call, the one that applies first: an exact name, the longest glob, the newest day. */
  matching({ model, provider, atMs }: Pick<PricedCall, 'model' | 'provider' | 'atMs'>): readonly PriceOverride[] {
    if (this.#overrides.length === 0) return [];
    const day = new Date(atMs).toISOString().slice(0, 10);
    // A newer table may know the model under another provider.
    const key = JSON.stringify([this.#table.version, provider, model]);
    const ofModel = remembered(this.#ofModel, key, () => this.#matchingModel(model, provider));
    return ofModel.filter(({ fromDay }) => fromDay <= day);
  }

  #matchingModel(model: string, provider: string | undefined): readonly PriceOverride[] {
    const known = modelNames(model, provider);
    const names = new Set(known.map(({ modelId }) => modelId.toLowerCase()));
    const hosts = new Set(known.flatMap(({ providerId }) => providerId ?? []).map(canonicalProvider));
    // The maker of the model is a guess about its host: only for a call that names none.
    const maker = provider === undefined || NAME_NO_HOST.has(provider) ? this.#table.providerOf(model) : undefined;
    if (maker !== undefined) hosts.add(canonicalProvider(maker));
    return this.#overrides
      .filter(({ override, matches }) => {
        if (override.provider !== undefined && !hosts.has(canonicalProvider(override.provider))) return false;
        return [...names].some(matches);
      })
      .map(({ override }) => override);
  }

  #own(call: PricedCall, override: PriceOverride): Quote {
    const { rates, tiers = [], perRequestUsd = 0, factor = 1, serviceTiers = {} } = override;
    const priceRef = `override:${override.id}@${override.version}`;
    if (rates === undefined) {
      const quote = this.#table.quote(call);
      if (!('costUsd' in quote)) return quote;
      const { feesUsd } = quote;
      const fees = feesUsd === undefined ? {} : { feesUsd: feesUsd * factor };
      return { ...quote, costUsd: quote.costUsd * factor + perRequestUsd, priceRef, ...fees };
    }
    const tier = call.usage.serviceTier?.toLowerCase();
    const ofTier = tier === undefined || isStandardTier(tier) ? 1 : serviceTiers[tier];
    if (ofTier === undefined) return { unpriced: 'service_tier' };
    const input = call.usage.inputTokens ?? 0;
    const reached = tiers
      .filter(({ aboveInputTokens }) => input > aboveInputTokens)
      .sort((one, other) => other.aboveInputTokens - one.aboveInputTokens)[0];
    const usd = costAt(reached?.rates ?? rates, call.usage);
    if (usd === undefined) return { unpriced: 'invalid_counts' };
    const { feesUsd = 0 } = this.#table.findFees(call);
    const fees = feesUsd === 0 ? {} : { feesUsd };
    return { costUsd: usd * ofTier * factor + perRequestUsd + feesUsd, priceRef, ...fees };
  }
}

interface Prepared {
  readonly override: PriceOverride;
  readonly matches: (name: string) => boolean;
}

function prepared(override: PriceOverride): Prepared {
  return { override, matches: globOf(override.model.toLowerCase()) };
}

/** Matches without a regular expression, so that a pattern cannot take exponential time. */
function globOf(pattern: string): (name: string) => boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return (name) => name === first;
  return (name) => {
    if (!name.startsWith(first)) return false;
    let from = first.length;
    for (const part of rest) {
      const at = name.indexOf(part, from);
      if (at === -1) return false;
      from = at + part.length;
    }
    return name.length - last.length >= from && name.endsWith(last);
  };
}

function bySpecificity({ override: one }: Prepared, { override: other }: Prepared): number {
  const exact = Number(other.model.includes('*') === false) - Number(one.model.includes('*') === false);
  if (exact !== 0) return exact;
  const length = other.model.length - one.model.length;
  if (length !== 0) return length;
  const provider = Number(other.provider !== undefined) - Number(one.provider !== undefined);
  if (provider !== 0) return provider;
  return other.fromDay < one.fromDay ? -1 : other.fromDay > one.fromDay ? 1 : other.id < one.id ? -1 : 1;
}

/** USD of the tokens of a call; undefined if a part of the counts exceeds what contains it. */
function costAt(rates: PriceRates, usage: Usage): number | undefined {
  const { inputTokens: input = 0, outputTokens: output = 0, cacheReadTokens: read = 0 } = usage;
  const { cacheWriteTokens: write = 0, cacheWrite1hTokens: hour = 0, reasoningTokens: reasoning = 0 } = usage;
  const { audioInputTokens: heard = 0, audioOutputTokens: spoken = 0 } = usage;
  const cachedAudio = countCachedAudio(usage) ?? 0;
  const fresh = input - read - write - heard + cachedAudio;
  const text = output - reasoning - spoken;
  if (fresh < 0 || text < 0 || hour > write) return undefined;
  const { cacheRead = rates.input, cacheWrite = rates.input, cacheWrite1h = cacheWrite } = rates;
  const { reasoning: thought = rates.output, audioInput = rates.input, audioOutput = rates.output } = rates;
  const millionths = fresh * rates.input + read * cacheRead + (write - hour) * cacheWrite + hour * cacheWrite1h;
  const audio = (heard - cachedAudio) * audioInput;
  return (millionths + audio + text * rates.output + reasoning * thought + spoken * audioOutput) / 1e6;
}
