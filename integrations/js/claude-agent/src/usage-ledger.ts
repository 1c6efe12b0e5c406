import type { LlmResponse } from '@agentlens/sdk';
import { responseOf } from './model-response.ts';
import type { ModelUsage, SdkMessage, Usage } from './shapes.ts';

const FIELDS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'] as const;
type Tokens = Record<(typeof FIELDS)[number], number>;

/** The tokens recorded since the last result, by model, to be held against the framework's own count. */
export class UsageLedger {
  readonly #recorded = new Map<string, Tokens>();
  #counted = new Map<string, Tokens>();

  record({ model, usage }: LlmResponse): void {
    const { inputTokens = 0, outputTokens, cacheReadTokens: read = 0, cacheWriteTokens: write = 0 } = usage ?? {};
    const recorded: Usage = {
      ...{ input_tokens: Math.max(0, inputTokens - read - write), output_tokens: outputTokens },
      ...{ cache_read_input_tokens: read, cache_creation_input_tokens: write },
    };
    this.#add(model?.name ?? 'unknown', tokensOf(recorded));
  }

  /** What the framework counted and nothing recorded, as answers without content. Begins a new count. */
  settle({ modelUsage, model_usage_since_last_result: since }: SdkMessage): readonly LlmResponse[] {
    const total = countsOf(modelUsage);
    const counted = since === undefined ? differences(total, this.#counted) : countsOf(since);
    this.#counted = total;
    const recorded = new Map(this.#recorded);
    this.#recorded.clear();
    // A model that goes by another name in the framework's count can be compared in all only.
    const comparable = [...recorded.keys()].every((name) => counted.has(name));
    if (comparable) return missing(counted, recorded);
    const [name = 'unknown'] = counted.keys();
    return missing(new Map([[name, sum(counted.values())]]), new Map([[name, sum(recorded.values())]]));
  }

  #add(name: string, tokens: Tokens): void {
    const before = this.#recorded.get(name);
    this.#recorded.set(name, before === undefined ? tokens : combined(before, tokens, 1));
  }
}

function missing(counted: ReadonlyMap<string, Tokens>, recorded: ReadonlyMap<string, Tokens>): LlmResponse[] {
  return [...differences(counted, recorded)].flatMap(([name, tokens]) => {
    const left = Object.fromEntries(FIELDS.map((field) => [field, Math.max(0, tokens[field])])) as Tokens;
    return FIELDS.some((field) => left[field] > 0) ? [responseOf(name, left, [])] : [];
  });
}

function countsOf(usage: Readonly<Record<string, ModelUsage>> = {}): Map<string, Tokens> {
  return new Map(
    Object.entries(usage).map(([name, counted]) => [
      name,
      tokensOf({
        ...{ input_tokens: counted.inputTokens, output_tokens: counted.outputTokens },
        ...{
          cache_read_input_tokens: counted.cacheReadInputTokens,
          cache_creation_input_tokens: counted.cacheCreationInputTokens,
        },
      }),
    ]),
  );
}

function differences(all: ReadonlyMap<string, Tokens>, less: ReadonlyMap<string, Tokens>): Map<string, Tokens> {
  return new Map([...all].map(([name, tokens]) => [name, combined(tokens, less.get(name) ?? tokensOf({}), -1)]));
}

function sum(all: Iterable<Tokens>): Tokens {
  return [...all].reduce((total, tokens) => combined(total, tokens, 1), tokensOf({}));
}

function combined(one: Tokens, other: Tokens, sign: 1 | -1): Tokens {
  return Object.fromEntries(FIELDS.map((field) => [field, one[field] + sign * other[field]])) as Tokens;
}

function tokensOf(usage: Usage): Tokens {
  return Object.fromEntries(FIELDS.map((field) => [field, usage[field] ?? 0])) as Tokens;
}
