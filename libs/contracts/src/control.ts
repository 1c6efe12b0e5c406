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
});
export type DirectiveAcknowledged = z.infer<typeof DirectiveAcknowledged>;
