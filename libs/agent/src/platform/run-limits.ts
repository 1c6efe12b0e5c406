import { type Breaker, CLOSED_BREAKER, check, DEFAULT_BREAKER_LIMITS, record } from '@agentlens/guardrails/breaker';
import { AgentError } from '../core/agent-error.ts';
import type { RunLimits } from '../runtime/capacity.ts';
import type { ModelOutcome } from './run-guard.ts';

/** Limits of one run, enforced by the same breaker as on the platform. */
export class RunLimiter {
  readonly #limits: typeof DEFAULT_BREAKER_LIMITS;
  readonly #now: () => number;
  #breaker: Breaker = CLOSED_BREAKER;

  constructor(limits: Partial<RunLimits>, now: () => number) {
    this.#limits = {
      ...DEFAULT_BREAKER_LIMITS,
      ...(limits.maxSteps === undefined ? {} : { maxIterations: limits.maxSteps }),
      ...(limits.maxTokens === undefined ? {} : { maxTokens: limits.maxTokens }),
      ...(limits.maxCostUsd === undefined ? {} : { maxCostUsd: limits.maxCostUsd }),
      ...(limits.maxConsecutiveFailures === undefined ? {} : { maxConsecutiveFailures: limits.maxConsecutiveFailures }),
    };
    this.#now = now;
  }

  /** @throws AgentError `limit_reached`, which never reveals the limit */
  beforeModel(callId: string, tokens: number): void {
    this.#check({ by: callId, iterations: 1, tokens });
  }

  beforeTool(toolUseId: string): string | null {
    try {
      this.#check({ by: toolUseId });
      return null;
    } catch (error) {
      if (error instanceof AgentError) return error.message;
      throw error;
    }
  }

  modelAnswered({ callId, response, error }: ModelOutcome): void {
    this.#breaker = record(
      this.#breaker,
      {
        ...{ of: 'llm', by: callId, iterations: 1, outcome: error === undefined ? 'success' : 'failure' },
        tokens: response === undefined ? 0 : response.usage.inputTokens + response.usage.outputTokens,
        costUsd: response?.costUsd ?? 0,
      },
      this.#now(),
    );
  }

  toolEnded(toolUseId: string, failed: boolean): void {
    const used = { of: 'tool', by: toolUseId, outcome: failed ? 'failure' : 'success' } as const;
    this.#breaker = record(this.#breaker, used, this.#now());
  }

  #check(next: { readonly by: string; readonly iterations?: number; readonly tokens?: number }): void {
    const answer = check(this.#breaker, this.#limits, this.#now(), next);
    this.#breaker = answer.breaker;
    if (answer.allowed) return;
    throw new AgentError('limit_reached', `the run has reached its limit of ${WORDS[answer.reason]}`, {
      info: { limit: answer.reason },
    });
  }
}

const WORDS = {
  ...{ tokens: 'tokens', iterations: 'steps', cost: 'cost', failures: 'failures in a row' },
  ...{ confidence: 'falling confidence', operator: 'an operator' },
} as const;
