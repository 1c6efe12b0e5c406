import type { BreakerLimits } from '@agentlens/contracts';

/** What `BreakerLimits.parse({})` answers, for code that carries no schema library; a spec holds the two together. */
export const DEFAULT_BREAKER_LIMITS: BreakerLimits = {
  maxTokens: 200_000,
  maxIterations: 10,
  maxCostUsd: 10,
  maxConsecutiveFailures: 5,
  maxConfidenceDrop: 0.3,
  confidenceWindow: 5,
  probeAfterSeconds: null,
};
