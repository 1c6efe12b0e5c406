/** What a client gets that does not choose. */
export const USUAL_KINDS = ['event', 'session_update', 'alert'] as const;

/** Frames that say what their topic says, from now on: nothing of these kinds is resumed. */
export const FACT_KINDS = ['alert_changed', 'decision', 'delivery', 'order', 'breaker', 'rule'] as const;
export type FactKind = (typeof FACT_KINDS)[number];

export const STREAM_KINDS = [...USUAL_KINDS, ...FACT_KINDS] as const;
