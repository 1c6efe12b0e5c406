const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long each kind of state is kept after it was last written, in milliseconds. Both adapters keep the same but for the inbox. */
export const LIFETIMES = {
  /** Longer than any redelivery: ack wait, back-off and an evaluator that was down for a while. */
  inbox: HOUR,
  /** In memory, where nobody is down for a while: ten times the longest back-off, and anew with each redelivery. */
  inboxInProcess: 5 * MINUTE,
  /** Ids of events that a client may send again in another batch. */
  seenEvents: 2 * HOUR,
  /** A ring outlives its window by as much as a message can be late. */
  slidingSlack: HOUR,
  /** What an agent's windows of all lengths share, of which none is longer than a day. */
  rings: DAY + HOUR,
  /** A cooldown outlives itself by as much as a message can be late: it is measured in the time of the triggers. */
  cooldownSlack: HOUR,
  run: 7 * DAY,
  /** An agent's breaker that is open stays open over a pause of the agent. */
  agentBreaker: 30 * DAY,
  /** That a tenant's agents ask for decisions. */
  asking: 7 * DAY,
  /** A reservation after it ended or was orphaned: what comes late must still find it. */
  reservation: 7 * DAY,
  /** That a cost was charged; as long as its event can be sent again. */
  charge: 2 * HOUR,
  /** A UTC day, the day after it for late events, and an hour. */
  day: 49 * HOUR,
  /** As long as the auditor may ask again about a minute in which something is missing. */
  evaluationTally: DAY,
  idempotencyKey: DAY,
  eventContent: 5 * MINUTE,
} as const;

/** Width of the sets of seen event ids. */
export const SEEN_EPOCH_MS = 10 * MINUTE;

/** Buckets of a sliding window. */
export const BUCKETS = 60;

/** Calls a run's history holds. */
export const MAX_CALLS = 1000;

/** Calls under one id whose estimates are held at once; of more the oldest is ended by nothing but its time. */
export const MAX_OPEN_CALLS = 100;
