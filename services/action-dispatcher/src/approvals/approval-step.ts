import { type AlertRow, hasLapsed } from '../alerts/alerts.repository.ts';

/** A client without ids that asks again this soon after its approval was used lost the answer; later it is another call. */
const RETRY_MS = 10_000;

/**
 * What a call that asks for its approval meets. `open`: nobody was asked about this call. `use`: approved, and this is the
 * call. `retry`: the question that used it comes again, which it may once. `lapse`: its time has run out just now.
 * `answer`: as it stands.
 */
export type ApprovalStep = 'open' | 'use' | 'retry' | 'lapse' | 'answer';

type Progress = Pick<AlertRow, 'status' | 'expires_at' | 'used_at' | 'used_by' | 'retried_at' | 'spent_at'>;

/** How the client names a question. */
interface AskedAs {
  readonly callId?: string | undefined;
  /** The same on every retry. */
  readonly requestId?: string | undefined;
}

/** A denied, expired or cancelled approval stays so for this call: asking again does not ask a human again. */
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
