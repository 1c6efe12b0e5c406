export const AGENTLENS_DIALECT = 'agentlens';
export const HANDLEBAR_DIALECT = 'handlebar';
export const OTLP_DIALECT = 'otlp';

/** Clients of these report a call once, when it is over; those of others when it begins, and again when it is over. */
export const REPORTS_ENDED_CALLS: ReadonlySet<string> = new Set([HANDLEBAR_DIALECT, OTLP_DIALECT]);
