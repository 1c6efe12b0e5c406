import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

/** A rule that had paused an agent and was cooling down: since somebody resumed the agent it can pause it again. */
export const RearmedRule = z.object({ ruleId: z.string(), ruleName: z.string() });
export type RearmedRule = z.infer<typeof RearmedRule>;

/**
 * Standing instruction to an agent; the last value wins. The whole desired state, not a toggle, so that applying it
 * twice or late changes nothing.
 */
export const Directive = z.object({
  id: z.string(),
  tenantId: TenantId,
  agentId: ClientId,
  /** Rises with every change of this agent's directive. */
  version: z.int().min(1),
  paused: z.object({ at: Instant, reason: z.string(), triggerId: z.string().optional() }).nullable().default(null),
  modelOverride: z
    .object({ model: z.string(), at: Instant, reason: z.string(), triggerId: z.string().optional() })
    .nullable()
    .default(null),
  issuedAt: Instant,
});
export type Directive = z.infer<typeof Directive>;
