/** Why the evaluation of one rule on one event went no further. */
export type StopReason =
  /** The agent's earlier trigger of this rule is still cooling down. */
  | 'cooling'
  /** Another trigger took the cooldown in the meantime. */
  | 'claim_refused'
  /** The value is not as the threshold wants it: too low, or too high for a rule on low values. */
  | 'threshold_not_met'
  /** Too little in the window to measure. */
  | 'no_data'
  /** The event says nothing to this condition. */
  | 'not_concerned'
  /** The event was counted in an earlier batch. */
  | 'duplicate_event'
  /** The rule failed on an earlier event of this batch. */
  | 'degraded';

/** How often each reason stopped an evaluation. */
export type StopCounts = Partial<Record<StopReason, number>>;
