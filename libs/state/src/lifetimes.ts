const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** TTL of each kind of state, in milliseconds since its last write. Both adapters use them, except for the inbox. */
export const LIFETIMES = {
  /** Longer than any redelivery: ack wait, backoff and an evaluator that was down for a while. */
  inbox: HOUR,
  /** In-process, where no evaluator is down: ten times the longest backoff, renewed with each redelivery. */
  inboxInProcess: 5 * MINUTE,
  /** Ids of events that a client may resend in another batch. */
  seenEvents: 2 * HOUR,
  /** How late a message may be: a ring outlives its window by this time. */
  slidingSlack: HOUR,
  /** An agent's windows of all lengths; the longest is a day. */
  rings: DAY + HOUR,
  /** How late a trigger may be: cooldowns are measured in trigger times. */
  cooldownSlack: HOUR,
  run: 7 * DAY,
  /** An open breaker of an agent stays open while the agent is idle. */
  agentBreaker: 30 * DAY,
  /** Flag that a tenant's agents ask for decisions. */
  asking: 7 * DAY,
  /** A reservation that ended or was orphaned, for late events. */
  reservation: 7 * DAY,
  /** Marks a cost as charged for as long as its event can be resent. */
  charge: 2 * HOUR,
  /** A UTC day, the following day for late events, and an hour. */
  day: 49 * HOUR,
  /** How long the auditor may ask about an incomplete minute. */
  evaluationTally: DAY,
  idempotencyKey: DAY,
  eventContent: 5 * MINUTE,
} as const;

/** Width of the sets of seen event ids. */
export const SEEN_EPOCH_MS = 10 * MINUTE;

/** Buckets per sliding window. */
export const BUCKETS = 60;

/** Calls kept per run. */
export const MAX_CALLS = 1000;

/** Labels kept per run tree. */
export const MAX_LABELS = 64;

/** Calls under one id that are held at once. Beyond that, the oldest can only expire. */
export const MAX_OPEN_CALLS = 100;
