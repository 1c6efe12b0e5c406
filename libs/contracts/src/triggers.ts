import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

export const COMPARISON_WORDS = ['exceeds', 'reaches', 'falls below', 'falls to', 'equals'] as const;
/** How the value compares with the threshold: `reaches` is at least, `falls to` at most. */
export const Comparison = z.enum(COMPARISON_WORDS);
export type Comparison = z.infer<typeof Comparison>;

/**
 * A rule fired for an agent because of an event. The data of the public CloudEvent `guardrail.triggered`; contains no
 * action config, so that any subscriber of the tenant may see it.
 */
export const Trigger = z.object({
  id: z.string().min(1),
  tenantId: TenantId,
  ruleId: z.string().min(1),
  ruleVersion: z.int().min(1),
  ruleName: z.string(),
  agentId: ClientId,
  /** Absent if a tick rather than an event fired the rule. */
  runId: ClientId.optional(),
  eventId: ClientId.optional(),
  conditionType: z.string(),
  conditionValue: z.number(),
  conditionThreshold: z.number(),
  /** Absent on triggers older than this field. `message` keeps the wording that clients know. */
  comparison: Comparison.optional(),
  actionType: z.string(),
  cooldownMinutes: z.int().min(0),
  dryRun: z.boolean(),
  message: z.string(),
  /** Arrival time of the batch that fired it, equal on every redelivery. */
  triggeredAt: Instant,
});
export type Trigger = z.infer<typeof Trigger>;

export const ACTION_RESULTS = ['pending', 'retrying', 'success', 'failed', 'dry_run', 'cooldown'] as const;
/** A notice to a channel is superseded by a newer one that takes its place. */
export const DELIVERY_RESULTS = [...ACTION_RESULTS, 'superseded'] as const;
/** Result of a trigger's action, as shown in the history. */
export const ActionResult = z.enum(ACTION_RESULTS);
export type ActionResult = z.infer<typeof ActionResult>;

/** Outcome of one delivery, published when it is final (or was in a cooldown). */
export const DeliverySettled = z.object({
  deliveryId: z.string(),
  triggerId: z.string(),
  tenantId: TenantId,
  /** Empty if a webhook endpoint was notified about something without a rule. */
  ruleId: z.string(),
  /** Empty if a webhook endpoint was notified about something that concerns no single agent. */
  agentId: z.string(),
  /** The notified endpoint; absent for the action of a rule or the webhook of its alert. */
  webhookId: z.string().optional(),
  actionType: z.string(),
  result: ActionResult,
  attempts: z.int().min(0),
  detail: z.string().optional(),
  settledAt: Instant,
});
export type DeliverySettled = z.infer<typeof DeliverySettled>;
