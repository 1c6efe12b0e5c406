import type { Alert } from '../api/model.ts';

/** How the state of an approval is marked and said. */
export const DECIDED = {
  approved: { icon: 'v-allow', tone: 'allow', word: 'Approved' },
  denied: { icon: 'v-block', tone: 'block', word: 'Denied' },
  expired: { icon: 's-timed', tone: 'timed', word: 'Expired, so denied' },
  cancelled: { icon: 's-cancelled', tone: 'cancelled', word: 'Closed' },
  pending: { icon: 's-waiting', tone: 'waiting', word: 'Waits' },
  acknowledged: { icon: 's-waiting', tone: 'waiting', word: 'Seen, waits' },
} satisfies Record<Alert['status'], { icon: string; tone: string; word: string }>;
