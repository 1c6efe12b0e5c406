import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

export const ALERT_STATUSES = ['pending', 'acknowledged', 'approved', 'denied', 'expired', 'cancelled'] as const;
/** `change`: what is unlike before, such as a rule that stops much more since it changed. */
export const ALERT_KINDS = ['approval', 'breaker', 'rule', 'spend', 'security', 'change'] as const;
const AlertStatus = z.enum(ALERT_STATUSES);

/** The call that an approval covers. A call with another run, tool, arguments or rule version does not match it. */
export const ApprovalBinding = z.object({
  runId: ClientId,
  callId: ClientId.optional(),
  toolName: z.string(),
  /** SHA-256 (hex) of the canonical arguments and of anything the canonical form does not distinguish. */
  argsHash: z.string(),
  ruleId: z.string(),
  ruleVersion: z.int().min(1),
  /** Further rules that ask for this call; the approval is for all of them. */
  also: z
    .array(z.object({ ruleId: z.string(), ruleVersion: z.int().min(1) }))
    .max(20)
    .optional(),
});
export type ApprovalBinding = z.infer<typeof ApprovalBinding>;

/** A call whose result was reported. Identified by its `callId`, or else by its tool and arguments. */
export const EndedCall = ApprovalBinding.pick({ runId: true, callId: true }).extend({
  toolName: z.string().optional(),
  argsHash: z.string().optional(),
});
export type EndedCall = z.infer<typeof EndedCall>;

/** The call that an approval is about, as shown to a reviewer. Secrets and personal data are redacted. */
export const ApprovalCall = z.object({
  /** JSON text of the arguments; numbers keep the digits the client wrote. */
  arguments: z.string(),
  /** JSON text of the result, if the call was made and its result needs approval. */
  result: z.string().optional(),
  /** Why part of the call is missing; absent if it is complete. An incomplete call cannot be approved. */
  cut: z.string().optional(),
});
export type ApprovalCall = z.infer<typeof ApprovalCall>;

/** Something a person should see or decide. `version` increases with every change. */
export const Alert = z.object({
  id: z.string(),
  tenantId: TenantId,
  kind: z.enum(ALERT_KINDS),
  status: AlertStatus,
  severity: z.enum(['info', 'warn', 'error', 'critical']),
  title: z.string(),
  message: z.string(),
  agentId: ClientId,
  runId: ClientId.optional(),
  ruleId: z.string().optional(),
  approval: ApprovalBinding.optional(),
  /** For an approval: id of the API key that requested the call. */
  askedBy: z.string().optional(),
  createdAt: Instant,
  /**
   * A pending approval is denied at this time, and an approved but unused one becomes invalid. Other pending alerts are
   * closed.
   */
  expiresAt: Instant.optional(),
  acknowledgedAt: Instant.optional(),
  acknowledgedBy: z.string().optional(),
  decidedAt: Instant.optional(),
  decidedBy: z.string().optional(),
  reason: z.string().optional(),
  /** When the approved call proceeded. An approval is valid for one call. */
  usedAt: Instant.optional(),
  /** Votes that the approval needs; absent: one decides. */
  quorum: z.int().min(1).optional(),
  /** Name of the policy that says who decides the approval. Absent: everyone who may review. */
  policy: z.string().optional(),
  /** Number of further alerts folded into this one while it was open. Increases without a new version. */
  suppressed: z.int().min(1).optional(),
  version: z.int().min(1),
});
export type Alert = z.infer<typeof Alert>;
