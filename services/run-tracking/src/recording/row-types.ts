import type { RowType } from '@agentlens/database';

/** The types of the rows that are sent to be stored; migration 0009 makes them. */
export const ROW_TYPES = ['event_row', 'run_row', 'agent_row', 'day_row'] as const;
export type RowTypes = Readonly<Record<(typeof ROW_TYPES)[number], RowType>>;
