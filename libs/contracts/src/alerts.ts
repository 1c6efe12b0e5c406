import { z } from 'zod';
import { ClientId, Instant, TenantId } from './ids.ts';

export const ALERT_STATUSES = ['pending', 'acknowledged', 'approved', 'denied', 'expired', 'cancelled'] as const;
const AlertStatus = z.enum(ALERT_STATUSES);

/**
 * What exactly an approval is for. A call with any other run, tool, arguments or rule version is another call and
 * never uses it.
 */
export const ApprovalBinding = z.object({
  runId: ClientId,
  callId: ClientId.optional(),
  toolName: z.string(),
  /** SHA-256 (hex) of the canonical arguments, and of what these do not tell apart. */
  argsHash: z.string(),
  ruleId: z.string(),
  ruleVersion: z.int().min(1),
});
export type ApprovalBinding = z.infer<typeof ApprovalBinding>;

/** A call whose result was reported: known by its `callId`, or else by its tool and arguments. */
export const EndedCall = ApprovalBinding.pick({ runId: true, callId: true }).extend({
  toolName: z.string().optional(),
  argsHash: z.string().optional(),
});
export type EndedCall = z.infer<typeof EndedCall>;

/** The call an approval is about, as a reviewer is shown it. Secrets and personal data are redacted. */
export const ApprovalCall = z.object({
  /** JSON text of the arguments; numbers have the digits they were written in. */
  arguments: z.string(),
  /** JSON text of the result, where the call was made and its result waits for a human. */
  result: z.string().optional(),
  /** Why a part of it is not here; absent: it is whole. What is not whole cannot be approved. */
  cut: z.string().optional(),
});
export type ApprovalCall = z.infer<typeof ApprovalCall>;

/** Something a human should see or decide. `version` rises with every change. */
export const Alert = z.object({
  id: z.string(),
  tenantId: TenantId,
  kind: z.enum(['approval', 'breaker', 'rule']),
  status: AlertStatus,
  severity: z.enum(['info', 'warn', 'error', 'critical']),
  title: z.string(),
  message: z.string(),
  agentId: ClientId,
  runId: ClientId.optional(),
  ruleId: z.string().optional(),
  approval: ApprovalBinding.optional(),
  /** Of an approval: id of the key that the call was asked for with. */
  askedBy: z.string().optional(),
  createdAt: Instant,
  /**
   * An approval nobody decided by then is denied, and an approved one nobody used by then is not good any more. Other
   * alerts that nobody looked at by then are closed.
   */
  expiresAt: Instant.optional(),
  acknowledgedAt: Instant.optional(),
  acknowledgedBy: z.string().optional(),
  decidedAt: Instant.optional(),
  decidedBy: z.string().optional(),
  reason: z.string().optional(),
  /** When the approved call went ahead; an approval is good for one call. */
  usedAt: Instant.optional(),
  /** Further alerts this one stands for: the same again while it was open. Rises without a new version. */
  suppressed: z.int().min(1).optional(),
  version: z.int().min(1),
});
export type Alert = z.infer<typeof Alert>;
