import { z } from 'zod';
import { BreakerLimits } from './breakers.ts';
import { DecisionPhase } from './decisions.ts';
import { JsonObject } from './events.ts';
import { ClientId } from './ids.ts';

/** A rule as an agent's own process evaluates it: what it selects of that agent's calls, and what it says of them. */
export const BundledRule = z.object({
  id: z.string(),
  version: z.int().min(1),
  name: z.string(),
  mode: z.enum(['enforce', 'shadow']),
  priority: z.int(),
  onMissing: z.enum(['allow', 'block']),
  onUnavailable: z.enum(['allow', 'block']),
  phases: z.array(DecisionPhase),
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
  /** Only the server can tell whether it is about this agent: ask it about every call that is selected. */
  askServer: z.literal(true).optional(),
});
export type BundledRule = z.infer<typeof BundledRule>;

/** The decision rules of one agent. The gateway signs its text with a key made of the asking API key. */
export const RuleBundle = z.object({
  agentId: ClientId,
  /** Rises with every change; an older one never replaces a newer one. */
  version: z.int().min(1),
  ttlSeconds: z.number().positive(),
  /** Phases the server must hear of even where no rule applies: budgets, or a history that some rule reads. */
  askAlways: z.array(DecisionPhase),
  rules: z.array(BundledRule),
  breakerLimits: BreakerLimits.optional(),
  /** The tenant wants no breaker where nobody set limits. */
  defaultBreaker: z.literal('off').optional(),
});
export type RuleBundle = z.infer<typeof RuleBundle>;

/** Bound to this use: a signature made for anything else with the same API key is not valid for a bundle. */
export const BUNDLE_KEY_LABEL = 'agentlens.rule-bundle.v1';
