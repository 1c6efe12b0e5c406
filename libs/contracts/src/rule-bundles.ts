import { z } from 'zod';
import { BreakerLimits } from './breakers.ts';
import { AgentPhase } from './decisions.ts';
import { JsonObject } from './events.ts';
import { ClientId } from './ids.ts';
import { Rollout } from './rules.ts';

/** A rule for evaluation in an agent's own process: its selector for that agent's calls, condition and action. */
export const BundledRule = z.object({
  id: z.string(),
  version: z.int().min(1),
  name: z.string(),
  mode: z.enum(['enforce', 'shadow']),
  priority: z.int(),
  onMissing: z.enum(['allow', 'block']),
  onUnavailable: z.enum(['allow', 'block']),
  phases: z.array(AgentPhase),
  selector: z
    .object({
      tools: z.array(z.string()).optional(),
      toolTagsAll: z.array(z.string()).optional(),
      toolTagsAny: z.array(z.string()).optional(),
    })
    .optional(),
  conditionType: z.string(),
  conditionConfig: JsonObject,
  actionType: z.string(),
  actionConfig: JsonObject,
  /**
   * Present for a canary rule. A client that knows the rollout's unit works out whether it is enforced; `askServer` is
   * then for clients that do not know this field.
   */
  rollout: Rollout.optional(),
  /** Only the server can decide whether the rule applies to this agent: ask it about every selected call. */
  askServer: z.literal(true).optional(),
});
export type BundledRule = z.infer<typeof BundledRule>;

/** The decision rules of one agent. The gateway signs the text with a key derived from the requesting API key. */
export const RuleBundle = z.object({
  agentId: ClientId,
  /** Increases with every change; an older bundle never replaces a newer one. */
  version: z.int().min(1),
  ttlSeconds: z.number().positive(),
  /**
   * Phases that must be reported to the server even if no rule applies, for budgets or for a history that some rule
   * reads.
   */
  askAlways: z.array(AgentPhase),
  rules: z.array(BundledRule),
  breakerLimits: BreakerLimits.optional(),
  /** The tenant disables the breaker for runs and agents without limits of their own. */
  defaultBreaker: z.literal('off').optional(),
});
export type RuleBundle = z.infer<typeof RuleBundle>;

/**
 * Context label of the signing key: a signature made for another purpose with the same API key is invalid for a bundle.
 */
export const BUNDLE_KEY_LABEL = 'agentlens.rule-bundle.v1';
