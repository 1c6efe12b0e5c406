import type { DecisionRequest, PriceBook } from '@agentlens/contracts';
import type { ModelRequest } from '@agentlens/model-api';
import { RecentMap } from '@agentlens/state';

/** Smallest assumed length of an answer, in tokens. */
const MIN_ANSWER_TOKENS = 1_000;
const WINDOW = 200;
const KEPT_MS = 24 * 60 * 60_000;
const MAX_SERIES = 10_000;

interface EstimatedCall {
  readonly tenantId: string;
  readonly agentId: string;
  readonly model: string;
  readonly provider: string;
  readonly request: ModelRequest;
}

export type EstimatedUsage = NonNullable<DecisionRequest['estimate']>;

/** What a call will use, by the length of its answer. */
export interface CallEstimate {
  /** The assumed length of the answer, in tokens, and by how much it grows when it gets longer. */
  readonly stepTokens: number;
  /** The longest answer that the client accepts, if it says so. */
  readonly maxTokens: number | undefined;
  readonly usageAt: (outputTokens: number) => EstimatedUsage;
}

/** Estimates what a call will cost, from its size and the length of earlier answers to the agent by the model. */
export class CallEstimates {
  readonly #answers: RecentMap<number[]>;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
    this.#answers = new RecentMap(now, { ttlMs: KEPT_MS, maxEntries: MAX_SERIES });
  }

  estimate(call: EstimatedCall, prices: PriceBook): CallEstimate {
    const { model, provider, request } = call;
    const { inputTokens, answers, serviceTier } = request;
    const tier = serviceTier === undefined ? {} : { serviceTier };
    const usual = answers * Math.max(MIN_ANSWER_TOKENS, ninetieth(this.#answers.get(nameOf(call)) ?? []));
    const maxTokens = request.maxTokens === undefined ? undefined : request.maxTokens * answers;
    const atMs = this.#now();
    return {
      stepTokens: Math.min(maxTokens ?? usual, usual),
      maxTokens,
      usageAt: (outputTokens) => {
        const quote = prices.quote({ model, provider, usage: { inputTokens, outputTokens, ...tier }, atMs });
        const costUsd = 'costUsd' in quote ? quote.costUsd : (quote.estimateUsd ?? 0);
        return { tokens: inputTokens + outputTokens, costUsd };
      },
    };
  }

  answered(call: EstimatedCall, outputTokens: number): void {
    const name = nameOf(call);
    const series = this.#answers.get(name) ?? [];
    series.push(Math.ceil(outputTokens / call.request.answers));
    if (series.length > WINDOW) series.shift();
    this.#answers.set(name, series);
  }
}

function nameOf({ tenantId, agentId, provider, model }: EstimatedCall): string {
  return JSON.stringify([tenantId, agentId, provider, model]);
}

function ninetieth(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.9)] ?? 0;
}
