import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

/** Limits of a circuit breaker. Usage at a limit is within it. Tokens and iterations are counts, cost is in USD. */
export const BreakerLimits = z.object({
  maxTokens: z.number().nonnegative().default(200_000),
  maxIterations: z.number().nonnegative().default(50),
  maxCostUsd: z.number().nonnegative().default(10),
  maxConsecutiveFailures: z.int().min(1).default(10),
  /** Trips if confidence falls by more than this over the last `confidenceWindow` reports; null disables the check. */
  maxConfidenceDrop: z.number().min(0).max(1).nullable().default(0.3),
  confidenceWindow: z.int().min(3).max(50).default(5),
  /** How long an open breaker waits before it lets one probe through; null: only a reset closes it. */
  probeAfterSeconds: z.int().min(1).nullable().default(null),
});
export type BreakerLimits = z.infer<typeof BreakerLimits>;

/** Request body that sets limits. Strict, so that a misspelled limit is rejected rather than ignored. */
export const BreakerLimitsDraft = BreakerLimits.strict();

const shape = BreakerLimits.shape;

/** Request body that changes some of the limits. */
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

/** Limits in force. An evaluator of an earlier version sends no version, because limits had none. */
export const StoredBreakerLimits = BreakerLimits.extend({ version: z.int().min(1).default(1) });
export type StoredBreakerLimits = z.infer<typeof StoredBreakerLimits>;

/** Whose usage a breaker counts. A tree is a topmost run with all its sub-runs, of any agent. */
export const BREAKER_SCOPES = ['run', 'tree', 'agent'] as const;
export type BreakerScope = (typeof BREAKER_SCOPES)[number];

/** What limits can be set for. Those of `tree` apply to each run tree of the tenant, the others to single runs. */
export const BREAKER_LIMIT_SCOPES = ['tenant', 'agent', 'run', 'tree'] as const;
export type BreakerLimitScope = (typeof BREAKER_LIMIT_SCOPES)[number];

export const BREAKER_REASONS = ['tokens', 'iterations', 'cost', 'failures', 'confidence', 'operator'] as const;
export const BreakerReason = z.enum(BREAKER_REASONS);
export type BreakerReason = z.infer<typeof BreakerReason>;

export const BreakerState = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('closed') }),
  z.object({ kind: z.literal('open'), openedAt: Instant, reason: BreakerReason }),
  z.object({ kind: z.literal('half_open'), openedAt: Instant, reason: BreakerReason, probe: z.string() }),
]);
export type BreakerState = z.infer<typeof BreakerState>;

/** Event: a breaker opened or closed. For operators; messages to agents never contain limits. */
export const BreakerChanged = z.object({
  tenantId: TenantId,
  scope: z.enum(BREAKER_SCOPES),
  scopeId: ClientId,
  agentId: ClientId,
  state: BreakerState,
  /** The exceeded limit, if the process that opened the breaker knows it. */
  limit: z.number().optional(),
  version: z.int().min(1),
  at: Instant,
});
export type BreakerChanged = z.infer<typeof BreakerChanged>;
