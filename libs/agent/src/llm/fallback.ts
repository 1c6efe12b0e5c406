import { AgentError, type ErrorCode, isAgentError, messageOf } from '../core/agent-error.ts';
import type { DriverEvent } from '../core/agent-event.ts';
import type { Json } from '../core/json.ts';
import type { Effects } from '../effects/effects.ts';
import {
  type CallOptions,
  type LLMClient,
  type ModelInput,
  type ModelPart,
  type ModelResponse,
  messagesOf,
} from './llm-client.ts';
import {
  byPriority,
  costOf,
  type ModelNeed,
  type ModelProvider,
  noProvider,
  ProviderHealth,
  type SelectProvider,
  unfit,
} from './model-provider.ts';
import { DEFAULT_MODEL_RETRY, type ModelRetry, withRetries } from './retry.ts';

/** Calls a model through the effects, in parts if it can stream, so that recordings and replays see each part. */
async function* recordedParts(
  client: LLMClient,
  provider: string,
  effects: Effects,
  input: ModelInput,
  options: CallOptions,
): AsyncIterable<ModelPart> {
  const { signal: _signal, timeoutMs: _timeoutMs, ...asked } = options;
  const request = { provider, messages: messagesOf(input), ...asked } as unknown as Json;
  const stream = client.stream?.bind(client);
  if (stream === undefined) {
    const response = await effects.perform('model', request, () => client.call(input, options));
    yield { type: 'response', response };
    return;
  }
  yield* effects.stream('model', request, () => stream(input, options));
}

/** What a model needs from its session. */
interface ModelDependencies {
  readonly effects: Effects;
  readonly emit: (event: DriverEvent) => void;
}

/** Creates a model from the effects of the session that uses it. */
export type ModelFactory = (dependencies: ModelDependencies) => LLMClient & { readonly providerOf?: ProviderOf };

/** A model of a session. */
export type ModelSource = LLMClient | ModelFactory;

/** The provider that gave an answer. */
export type ProviderOf = (response: ModelResponse) => string | undefined;

export interface ProviderPoolOptions {
  readonly providers: readonly ModelProvider[];
  readonly select?: SelectProvider;
  readonly retry?: Partial<ModelRetry>;
  readonly costCeilingUsd?: number;
  /** Shared by the sessions of one process. */
  readonly health?: ProviderHealth;
}

const CHARS_PER_TOKEN = 4;
const HOPELESS: ReadonlySet<ErrorCode> = new Set(['model_invalid_request', 'replay_mismatch']);

/**
 * Combines several providers into one model: the suitable ones in order, each with retries, with fallback to the next.
 */
export function providerPool(options: ProviderPoolOptions): ModelFactory {
  const health = options.health ?? new ProviderHealth();
  return (dependencies) => new PooledModel(options, health, dependencies);
}

class PooledModel implements LLMClient {
  readonly #options: ProviderPoolOptions;
  readonly #health: ProviderHealth;
  readonly #dependencies: ModelDependencies;
  readonly #providers = new WeakMap<ModelResponse, string>();

  constructor(options: ProviderPoolOptions, health: ProviderHealth, dependencies: ModelDependencies) {
    this.#options = options;
    this.#health = health;
    this.#dependencies = dependencies;
  }

  readonly providerOf: ProviderOf = (response) => this.#providers.get(response);

  call(input: ModelInput, options: CallOptions = {}): Promise<ModelResponse> {
    return this.#ask(input, options, () => undefined);
  }

  async *stream(input: ModelInput, options: CallOptions = {}): AsyncIterable<ModelPart> {
    const parts: ModelPart[] = [];
    let settled = false;
    let wake: () => void = () => undefined;
    const asked = this.#ask(input, options, (part) => {
      parts.push(part);
      wake();
    }).finally(() => {
      settled = true;
      wake();
    });
    // A reader that stops early does not see the error.
    asked.catch(() => undefined);
    for (;;) {
      const part = parts.shift();
      if (part !== undefined) yield part;
      else if (settled) break;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
    yield { type: 'response', response: await asked };
  }

  async #ask(input: ModelInput, options: CallOptions, onPart: (part: ModelPart) => void): Promise<ModelResponse> {
    const { effects, emit } = this.#dependencies;
    const rejected = new Map<string, string>();
    let last: unknown;
    for (const provider of this.#candidates(needOf(input, options, this.#options.costCeilingUsd), rejected)) {
      emit({ type: 'provider-selected', provider: provider.id, rejected: Object.fromEntries(rejected) });
      const startedAt = effects.now();
      try {
        const ask = (asked: CallOptions) => recordedParts(provider.client, provider.id, effects, input, asked);
        const retry = { ...DEFAULT_MODEL_RETRY, ...this.#options.retry };
        const response = await withRetries(ask, provider.id, options, retry, { effects, emit, onPart });
        this.#health.succeeded(provider.id, effects.now() - startedAt);
        return this.#priced(provider, response);
      } catch (thrown) {
        options.signal?.throwIfAborted();
        const error = asAgentError(provider.id, thrown);
        // A faulty request fails with every provider, and a replay must not try others.
        if (HOPELESS.has(error.code)) throw error;
        this.#health.failed(provider.id, effects.now());
        rejected.set(provider.id, error.message);
        last = error;
      }
    }
    // With one provider its own error is the most specific.
    if (last !== undefined && this.#options.providers.length === 1) throw last;
    throw noProvider(rejected, last);
  }

  #priced(provider: ModelProvider, answered: ModelResponse): ModelResponse {
    const { price } = provider;
    const response =
      answered.costUsd !== undefined || price === undefined
        ? { ...answered }
        : { ...answered, costUsd: costOf(price, answered.usage) };
    this.#providers.set(response, provider.id);
    return response;
  }

  #candidates(need: ModelNeed, rejected: Map<string, string>): readonly ModelProvider[] {
    const nowMs = this.#dependencies.effects.now();
    const able = this.#options.providers.filter((provider) => {
      const why = unfit(provider, need) ?? (this.#health.isCooling(provider.id, nowMs) ? 'failed repeatedly' : null);
      if (why !== null) rejected.set(provider.id, why);
      return why === null;
    });
    return (this.#options.select ?? byPriority)(able, need, this.#health);
  }
}

/** A custom client can throw anything. */
function asAgentError(provider: string, error: unknown): AgentError {
  if (isAgentError(error)) return error;
  return new AgentError('model_unavailable', `${provider} failed: ${messageOf(error)}`, { cause: error });
}

function needOf(input: ModelInput, options: CallOptions, costCeilingUsd: number | undefined): ModelNeed {
  const chars = JSON.stringify(messagesOf(input)).length + (options.system?.length ?? 0);
  return {
    ...(options.model === undefined ? {} : { model: options.model }),
    tools: (options.tools ?? []).length > 0,
    thinking: options.thinking !== undefined,
    ...(options.maxOutputTokens === undefined ? {} : { maxOutputTokens: options.maxOutputTokens }),
    inputTokens: Math.ceil(chars / CHARS_PER_TOKEN),
    ...(costCeilingUsd === undefined ? {} : { costCeilingUsd }),
  };
}
