import { type AlertRow, hasLapsed } from '../alerts/alerts.repository.ts';

/**
 * A client without request ids that repeats a question this soon after its approval was used has lost the answer. Later
 * it is taken for another call.
 */
const RETRY_MS = 10_000;

/**
 * What to do when a call asks for its approval.
 *
 * - `open`: ask a person, this call has no approval yet
 * - `use`: the call is approved; use the approval
 * - `retry`: the question that used it is repeated, which is allowed once
 * - `lapse`: the approval has expired
 * - `answer`: answer with its current state
 */
export type ApprovalStep = 'open' | 'use' | 'retry' | 'lapse' | 'answer';

type Progress = Pick<AlertRow, 'status' | 'expires_at' | 'used_at' | 'used_by' | 'retried_at' | 'spent_at'>;

/** Identifies the question of a client. */
interface AskedAs {
  readonly callId?: string | undefined;
  /** The same on every retry. */
  readonly requestId?: string | undefined;
}

/** A denied, expired or cancelled approval stays so for this call. */
export function approvalStep(row: Progress | undefined, asked: AskedAs, now: number): ApprovalStep {
  if (row === undefined) return 'open';
  if (hasLapsed(row, now)) return 'lapse';
  if (row.status !== 'approved') return 'answer';
  if (row.used_at === null) return 'use';
  if (row.spent_at !== null) return 'open';
  if (asked.callId !== undefined) return 'answer';
  if (asked.requestId !== undefined || row.used_by !== null) return asked.requestId === row.used_by ? 'answer' : 'open';
  return row.retried_at === null && now - Date.parse(row.used_at) <= RETRY_MS ? 'retry' : 'open';
}
