import type { BreakerLimits, BreakerReason } from '@agentlens/contracts';

/** What `BreakerLimits.parse({})` answers, for code that carries no schema library; a spec holds the two together. */
export const DEFAULT_BREAKER_LIMITS: BreakerLimits = {
  maxTokens: 200_000,
  maxIterations: 50,
  maxCostUsd: 10,
  maxConsecutiveFailures: 5,
  maxConfidenceDrop: 0.3,
  confidenceWindow: 5,
  probeAfterSeconds: null,
};

/** Nothing is over these: they stand for no breaker. Never sent, for JSON knows no infinity. */
export const NO_BREAKER_LIMITS: BreakerLimits = {
  ...DEFAULT_BREAKER_LIMITS,
  maxTokens: Number.POSITIVE_INFINITY,
  maxIterations: Number.POSITIVE_INFINITY,
  maxCostUsd: Number.POSITIVE_INFINITY,
  maxConsecutiveFailures: Number.POSITIVE_INFINITY,
  maxConfidenceDrop: null,
};

/** The limit a reason speaks of; an operator opens a breaker without one. */
export const LIMIT_OF_REASON = {
  tokens: 'maxTokens',
  iterations: 'maxIterations',
  cost: 'maxCostUsd',
  failures: 'maxConsecutiveFailures',
  confidence: 'maxConfidenceDrop',
  operator: null,
} as const satisfies Record<BreakerReason, keyof BreakerLimits | null>;
