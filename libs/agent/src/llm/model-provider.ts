import { AgentError, type ErrorInfo, errorInfo } from '../core/agent-error.ts';
import type { TokenUsage } from '../core/token-usage.ts';
import type { LLMClient } from './llm-client.ts';

export interface ModelProvider {
  readonly id: string;
  readonly client: LLMClient;
  /** Higher is tried first. Default 0, then list order. */
  readonly priority?: number;
  readonly supports?: {
    /** Default: all. */
    readonly models?: readonly string[] | '*';
    readonly modalities?: readonly string[];
    readonly maxTokens?: number;
    /** Default true. */
    readonly tools?: boolean;
    readonly thinking?: boolean;
  };
  readonly price?: Price;
}

/** What a call requires from a provider. */
export interface ModelNeed {
  readonly model?: string;
  readonly modality?: string;
  readonly tools: boolean;
  readonly thinking: boolean;
  readonly maxOutputTokens?: number;
  /** Estimated input size. */
  readonly inputTokens: number;
  readonly costCeilingUsd?: number;
}

export interface ProviderStats {
  /** Latency of successful calls, ms; undefined before the first. */
  latencyMs(id: string): number | undefined;
  failuresInARow(id: string): number;
}

/** Returns the order in which providers are tried; all of them meet the requirements. */
export type SelectProvider = (
  candidates: readonly ModelProvider[],
  need: ModelNeed,
  stats: ProviderStats,
) => readonly ModelProvider[];

const FAILURES_TO_COOL = 3;
const COOL_MS = 30_000;
const SMOOTHING = 0.3;

/** Health of providers in this process. */
export class ProviderHealth implements ProviderStats {
  readonly #failures = new Map<string, number>();
  readonly #coolUntil = new Map<string, number>();
  readonly #latency = new Map<string, number>();

  succeeded(id: string, ms: number): void {
    const before = this.#latency.get(id);
    this.#latency.set(id, before === undefined ? ms : before + SMOOTHING * (ms - before));
    this.#failures.delete(id);
  }

  failed(id: string, nowMs: number): void {
    const failures = this.failuresInARow(id) + 1;
    this.#failures.set(id, failures);
    if (failures >= FAILURES_TO_COOL) this.#coolUntil.set(id, nowMs + COOL_MS);
  }

  isCooling(id: string, nowMs: number): boolean {
    return (this.#coolUntil.get(id) ?? 0) > nowMs;
  }

  latencyMs(id: string): number | undefined {
    return this.#latency.get(id);
  }

  failuresInARow(id: string): number {
    return this.#failures.get(id) ?? 0;
  }
}

/** Why a provider cannot be used; null if it can. */
export function unfit(provider: ModelProvider, need: ModelNeed): string | null {
  const { models = '*', modalities = ['text'], maxTokens, tools = true, thinking = true } = provider.supports ?? {};
  if (need.model !== undefined && models !== '*' && !models.includes(need.model)) return 'does not have the model';
  if (need.modality !== undefined && !modalities.includes(need.modality)) return `does not take ${need.modality}`;
  if (need.tools && !tools) return 'has no tools';
  if (need.thinking && !thinking) return 'does not think';
  const wanted = need.inputTokens + (need.maxOutputTokens ?? 0);
  if (maxTokens !== undefined && wanted > maxTokens) return 'takes fewer tokens';
  if (need.costCeilingUsd !== undefined && provider.price !== undefined) {
    const { input, output } = provider.price;
    const estimate = (need.inputTokens * input + (need.maxOutputTokens ?? 1_000) * output) / 1e6;
    if (estimate > need.costCeilingUsd) return 'costs more than allowed';
  }
  return null;
}

export function noProvider(reasons: ReadonlyMap<string, string>, last?: unknown): AgentError {
  const named = [...reasons].map(([id, why]) => `${id} ${why}`).join('; ');
  const info: { rejected: Record<string, string>; last?: ErrorInfo['code'] } = {
    rejected: Object.fromEntries(reasons),
  };
  if (last !== undefined) info.last = errorInfo(last, 'model_unavailable').code;
  return new AgentError('model_unavailable', `no model provider can answer: ${named || 'there is none'}`, {
    info,
    ...(last === undefined ? {} : { cause: last }),
  });
}

/** USD per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** Cost of a call with a custom price. Cached tokens are included in the input tokens. */
export function costOf(price: Price, usage: TokenUsage): number {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const fresh = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const { input, output, cacheRead = input, cacheWrite = input } = price;
  return (fresh * input + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite + outputTokens * output) / 1e6;
}

/** Cost of a call from the table of known models; undefined for an unknown model. The table is loaded on first use. */
export async function knownCost(model: string, usage: TokenUsage): Promise<number | undefined> {
  const { calcPrice } = await import('@pydantic/genai-prices');
  const tokens = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
  };
  const slash = model.indexOf('/');
  return calcPrice(tokens, slash > 0 ? model.slice(slash + 1) : model)?.total_price;
}

/** The default: by priority, then in list order. */
export const byPriority: SelectProvider = (candidates) => sortedBy(candidates, ({ priority = 0 }) => -priority);

/** Cheapest first; providers without a price last. */
export const byCost: SelectProvider = (candidates) =>
  sortedBy(candidates, ({ price }) => (price === undefined ? Number.POSITIVE_INFINITY : price.input + price.output));

/** Fastest first; providers without measurements come before all others, so that each is measured. */
export const byLatency: SelectProvider = (candidates, _need, stats) =>
  sortedBy(candidates, ({ id }) => stats.latencyMs(id) ?? 0);

function sortedBy(candidates: readonly ModelProvider[], rank: (provider: ModelProvider) => number): ModelProvider[] {
  return candidates
    .map((provider, index) => ({ provider, index, rank: rank(provider) }))
    .sort((a, b) => (a.rank === b.rank ? a.index - b.index : a.rank < b.rank ? -1 : 1))
    .map(({ provider }) => provider);
}
