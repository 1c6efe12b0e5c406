import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

/** A rule whose pause of an agent was cooling down. After an operator resumed the agent, it can trigger again. */
export const RearmedRule = z.object({ ruleId: z.string(), ruleName: z.string() });
export type RearmedRule = z.infer<typeof RearmedRule>;

/**
 * Standing instruction to an agent; the latest wins. Holds the whole desired state rather than a toggle, so that
 * applying it late or repeatedly is harmless.
 */
export const Directive = z.object({
  id: z.string(),
  tenantId: TenantId,
  agentId: ClientId,
  /** Increases with every change of this agent's directive. */
  version: z.int().min(1),
  paused: z.object({ at: Instant, reason: z.string(), triggerId: z.string().optional() }).nullable().default(null),
  modelOverride: z
    .object({ model: z.string(), at: Instant, reason: z.string(), triggerId: z.string().optional() })
    .nullable()
    .default(null),
  issuedAt: Instant,
});
export type Directive = z.infer<typeof Directive>;
