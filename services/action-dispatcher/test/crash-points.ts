/** A statement before which a dispatcher dies. Recognised by the text of the query. */
export interface CrashPoint {
  readonly name: string;
  readonly isReached: (query: string) => boolean;
}

export const CRASH_POINTS: readonly CrashPoint[] = [
  // Its groups are locked, and nothing is committed.
  {
    name: 'queuing a notice',
    isReached: (query) => query.includes('insert into notices'),
  },
  // Notices and deliveries are written, the groups are not, and nothing is committed.
  { name: 'storing a group', isReached: (query) => query.includes('update notice_groups g set due_at') },
  // Nothing was claimed yet, or others hold what was.
  { name: 'claiming', isReached: (query) => query.includes('held_destinations') },
  // The receiver has answered, and the answer is not stored.
  { name: 'recording an answer', isReached: (query) => query.includes('insert into delivery_attempts') },
];

/** It has claimed a delivery, and the receiver knows nothing. */
export const SENDING = 'sending';
