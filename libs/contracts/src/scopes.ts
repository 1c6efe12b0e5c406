/**
 * What a key may do. `ingest`: send events. `decide`: ask for decisions. `read`: see. `review`: decide alerts and
 * approvals. `admin`: everything.
 */
export const SCOPES = ['ingest', 'decide', 'read', 'review', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];
