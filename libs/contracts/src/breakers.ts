import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

/** Caps of a circuit breaker. At a cap is not over it; over is. Tokens and iterations are counts, cost is USD. */
export const BreakerLimits = z.object({
  maxTokens: z.number().nonnegative().default(200_000),
  maxIterations: z.number().nonnegative().default(50),
  maxCostUsd: z.number().nonnegative().default(10),
  maxConsecutiveFailures: z.int().min(1).default(5),
  /** Trips when confidence falls by more than this over the last `confidenceWindow` reports; null: not watched. */
  maxConfidenceDrop: z.number().min(0).max(1).nullable().default(0.3),
  confidenceWindow: z.int().min(3).max(50).default(5),
  /** How long an open breaker waits before it lets one probe through; null: only a reset closes it. */
  probeAfterSeconds: z.int().min(1).nullable().default(null),
});
export type BreakerLimits = z.infer<typeof BreakerLimits>;

/** What is sent to set limits: strict, so that a misspelt limit is no limit that silently does not hold. */
export const BreakerLimitsDraft = BreakerLimits.strict();

const shape = BreakerLimits.shape;

/** What is sent to change some of the limits that are set. */
export const BreakerLimitsPatch = z
  .strictObject({
    maxTokens: shape.maxTokens.unwrap(),
    maxIterations: shape.maxIterations.unwrap(),
    maxCostUsd: shape.maxCostUsd.unwrap(),
    maxConsecutiveFailures: shape.maxConsecutiveFailures.unwrap(),
    maxConfidenceDrop: shape.maxConfidenceDrop.unwrap(),
    confidenceWindow: shape.confidenceWindow.unwrap(),
    probeAfterSeconds: shape.probeAfterSeconds.unwrap(),
  })
  .partial();
export type BreakerLimitsPatch = z.infer<typeof BreakerLimitsPatch>;

/** Limits as they are set by now. An evaluator of an earlier version tells no version: they had none. */
export const StoredBreakerLimits = BreakerLimits.extend({ version: z.int().min(1).default(1) });
export type StoredBreakerLimits = z.infer<typeof StoredBreakerLimits>;

export const BREAKER_REASONS = ['tokens', 'iterations', 'cost', 'failures', 'confidence', 'operator'] as const;
export const BreakerReason = z.enum(BREAKER_REASONS);
export type BreakerReason = z.infer<typeof BreakerReason>;

export const BreakerState = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('closed') }),
  z.object({ kind: z.literal('open'), openedAt: Instant, reason: BreakerReason }),
  z.object({ kind: z.literal('half_open'), openedAt: Instant, reason: BreakerReason, probe: z.string() }),
]);
export type BreakerState = z.infer<typeof BreakerState>;

/** A breaker opened or closed. For people: what an agent is told never says how high the limit is. */
export const BreakerChanged = z.object({
  tenantId: TenantId,
  scope: z.enum(['run', 'agent']),
  scopeId: ClientId,
  agentId: ClientId,
  state: BreakerState,
  /** The limit that was passed, where the process that opened the breaker knows it. */
  limit: z.number().optional(),
  version: z.int().min(1),
  at: Instant,
});
export type BreakerChanged = z.infer<typeof BreakerChanged>;
