import type { Alert } from '../api/model.ts';

/** Mark and name of each approval state. */
export const DECIDED = {
  approved: { icon: 'v-allow', tone: 'allow', word: 'Approved' },
  denied: { icon: 'v-block', tone: 'block', word: 'Denied' },
  expired: { icon: 's-timed', tone: 'timed', word: 'Expired (denied)' },
  cancelled: { icon: 's-cancelled', tone: 'cancelled', word: 'Closed' },
  pending: { icon: 's-waiting', tone: 'waiting', word: 'Waits' },
  acknowledged: { icon: 's-waiting', tone: 'waiting', word: 'Acknowledged' },
} satisfies Record<Alert['status'], { icon: string; tone: string; word: string }>;
