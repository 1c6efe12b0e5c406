import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

export const COMPARISON_WORDS = ['exceeds', 'reaches', 'falls below', 'falls to', 'equals'] as const;
/** How the value stands to the threshold: `reaches` is at least, `falls to` at most. */
export const Comparison = z.enum(COMPARISON_WORDS);
export type Comparison = z.infer<typeof Comparison>;

/**
 * "This rule fired for this agent because of this event." The data of the public CloudEvent
 * `guardrail.triggered`; holds no configuration of the action, so it can be shown to any subscriber of the tenant.
 */
export const Trigger = z.object({
  id: z.string().min(1),
  tenantId: TenantId,
  ruleId: z.string().min(1),
  ruleVersion: z.int().min(1),
  ruleName: z.string(),
  agentId: ClientId,
  /** Absent where a tick, not an event, fired the rule. */
  runId: ClientId.optional(),
  eventId: ClientId.optional(),
  conditionType: z.string(),
  conditionValue: z.number(),
  conditionThreshold: z.number(),
  /** Absent on triggers made before there was such a field. `message` keeps the wording that clients know. */
  comparison: Comparison.optional(),
  actionType: z.string(),
  cooldownMinutes: z.int().min(0),
  dryRun: z.boolean(),
  message: z.string(),
  /** The arrival time of the batch that fired it, equal on every redelivery. */
  triggeredAt: Instant,
});
export type Trigger = z.infer<typeof Trigger>;

export const ACTION_RESULTS = ['pending', 'retrying', 'success', 'failed', 'dry_run', 'cooldown'] as const;
/** What became of a trigger's action, as shown in the history. */
export const ActionResult = z.enum(ACTION_RESULTS);
export type ActionResult = z.infer<typeof ActionResult>;

/** Outcome of one delivery, published when it reaches an end (or was found cooling). */
export const DeliverySettled = z.object({
  deliveryId: z.string(),
  triggerId: z.string(),
  tenantId: TenantId,
  /** Empty where what a webhook endpoint was told of has none. */
  ruleId: z.string(),
  /** Empty where what a webhook endpoint was told of concerns no one agent. */
  agentId: z.string(),
  /** The endpoint that was told; absent: the action of a rule, or the webhook of its alert. */
  webhookId: z.string().optional(),
  actionType: z.string(),
  result: ActionResult,
  attempts: z.int().min(0),
  detail: z.string().optional(),
  settledAt: Instant,
});
export type DeliverySettled = z.infer<typeof DeliverySettled>;
