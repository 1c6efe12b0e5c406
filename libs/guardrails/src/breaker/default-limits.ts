import type { BreakerLimits, BreakerReason } from '@agentlens/contracts';

/** Equals `BreakerLimits.parse({})`, for code that loads no schema library. A spec keeps the two in step. */
export const DEFAULT_BREAKER_LIMITS: BreakerLimits = {
  maxTokens: 200_000,
  maxIterations: 50,
  maxCostUsd: 10,
  maxConsecutiveFailures: 10,
  maxConfidenceDrop: 0.3,
  confidenceWindow: 5,
  probeAfterSeconds: null,
};

/** Disables the breaker. Never sent, because JSON has no infinity. */
export const NO_BREAKER_LIMITS: BreakerLimits = {
  ...DEFAULT_BREAKER_LIMITS,
  maxTokens: Number.POSITIVE_INFINITY,
  maxIterations: Number.POSITIVE_INFINITY,
  maxCostUsd: Number.POSITIVE_INFINITY,
  maxConsecutiveFailures: Number.POSITIVE_INFINITY,
  maxConfidenceDrop: null,
};

/** The limit behind each reason. An operator opens a breaker without one. */
export const LIMIT_OF_REASON = {
  tokens: 'maxTokens',
  iterations: 'maxIterations',
  cost: 'maxCostUsd',
  failures: 'maxConsecutiveFailures',
  confidence: 'maxConfidenceDrop',
  operator: null,
} as const satisfies Record<BreakerReason, keyof BreakerLimits | null>;
