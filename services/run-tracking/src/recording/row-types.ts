import type { RowType } from '@agentlens/database';

/** The types of the rows that are sent to be stored; migrations make them. */
export const ROW_TYPES = ['event_row', 'run_row_2', 'agent_row', 'day_row'] as const;
export type RowTypes = Readonly<Record<(typeof ROW_TYPES)[number], RowType>>;
