/** Why the evaluation of a rule on an event stopped. */
export type StopReason =
  /** An earlier trigger of this rule and agent is still cooling down. */
  | 'cooling'
  /** Another trigger claimed the cooldown in the meantime. */
  | 'claim_refused'
  /** The value does not meet the rule's threshold. */
  | 'threshold_not_met'
  /** The window holds too little data to measure. */
  | 'no_data'
  /** The event is irrelevant to the condition. */
  | 'not_concerned'
  /** The event was counted in an earlier batch. */
  | 'duplicate_event'
  /** The rule threw on an earlier event of this batch. */
  | 'degraded';

/** Number of evaluations stopped, by reason. */
export type StopCounts = Partial<Record<StopReason, number>>;
