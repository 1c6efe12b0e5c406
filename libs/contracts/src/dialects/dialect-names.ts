export const AGENTLENS_DIALECT = 'agentlens';
export const HANDLEBAR_DIALECT = 'handlebar';
export const OTLP_DIALECT = 'otlp';

/** Dialects whose clients report a call once, on completion. Other clients report its start and its end. */
export const REPORTS_ENDED_CALLS: ReadonlySet<string> = new Set([HANDLEBAR_DIALECT, OTLP_DIALECT]);
