/** What a client gets that does not choose. */
export const USUAL_KINDS = ['event', 'session_update', 'alert'] as const;

/** Frames that say what their topic says, from now on: nothing of these kinds is resumed. */
export const FACT_KINDS = ['alert_changed', 'decision', 'delivery', 'order', 'breaker', 'rule'] as const;
export type FactKind = (typeof FACT_KINDS)[number];

/** Frames of what is read from the record every two seconds: not resumed either. `audit` is for admins only. */
export const RECORD_KINDS = ['budget', 'audit'] as const;

export const STREAM_KINDS = [...USUAL_KINDS, ...FACT_KINDS, ...RECORD_KINDS] as const;
