import type { AlertsTable } from '@agentlens/database';
import type { Selectable } from 'kysely';

export type AlertRow = Selectable<AlertsTable>;

type Lifetime = Pick<AlertRow, 'status' | 'expires_at' | 'used_at'>;

/** Still to be decided. */
export function isOpen({ status }: Pick<AlertRow, 'status'>): boolean {
  return status === 'pending' || status === 'acknowledged';
}

/** True where its time has run out, whether or not the sweeper has come by: nobody decided it, or nobody used it. */
export function hasLapsed(row: Lifetime, now: number): boolean {
  if (row.expires_at === null || Date.parse(row.expires_at) > now) return false;
  return isOpen(row) || (row.status === 'approved' && row.used_at === null);
}
