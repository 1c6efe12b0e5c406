import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

export const CONTROL_SCOPES = ['run', 'agent', 'tenant'] as const;
export const ControlScope = z.enum(CONTROL_SCOPES);
export type ControlScope = z.infer<typeof ControlScope>;

/**
 * An operator's standing order for a run, an agent or a whole tenant; the latest version wins. `killed` ends runs,
 * `paused` blocks every call until `running`.
 */
export const ControlOrder = z.object({
  id: z.string(),
  tenantId: TenantId,
  scope: ControlScope,
  /** Run id or agent id; the tenant's own id for scope tenant. */
  scopeId: ClientId,
  /** For an order about a run: the run's agent, if known, because only its processes need the order. */
  agentId: ClientId.optional(),
  state: z.enum(['running', 'paused', 'killed']),
  reason: z.string().max(1000),
  by: z.string(),
  version: z.int().min(1),
  issuedAt: Instant,
});
export type ControlOrder = z.infer<typeof ControlOrder>;

/** A connected SDK instance received a directive or an order. */
export const DirectiveAcknowledged = z.object({
  tenantId: TenantId,
  directiveId: z.string(),
  agentId: ClientId,
  instanceId: z.string(),
  acknowledgedAt: Instant,
  /** Checked by the gateway. Absent if the instance did not sign. */
  signature: z
    .object({
      /** Names the connection; the secret that the instance signed with was sent on it. */
      connection: z.string(),
      version: z.int().min(1),
      mac: z.string(),
    })
    .optional(),
});
export type DirectiveAcknowledged = z.infer<typeof DirectiveAcknowledged>;

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
