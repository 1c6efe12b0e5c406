import { type AlertRow, hasLapsed } from '../alerts/alert-row.ts';

/** A client without call ids that asks again this soon after its approval was used lost the answer; later it is another call. */
const RETRY_MS = 30_000;

/**
 * What a call that asks for its approval meets. `open`: nobody was asked about this call. `use`: approved, and this is the
 * call. `lapse`: its time has run out just now. `answer`: as it stands.
 */
export type ApprovalStep = 'open' | 'use' | 'lapse' | 'answer';

type Standing = Pick<AlertRow, 'status' | 'expires_at' | 'used_at'>;

/** A denied, expired or cancelled approval stays so for this call: asking again does not ask a human again. */
export function approvalStep(row: Standing | undefined, hasCallId: boolean, now: number): ApprovalStep {
  if (row === undefined) return 'open';
  if (hasLapsed(row, now)) return 'lapse';
  if (row.status !== 'approved') return 'answer';
  if (row.used_at === null) return 'use';
  return hasCallId || now - Date.parse(row.used_at) <= RETRY_MS ? 'answer' : 'open';
}
