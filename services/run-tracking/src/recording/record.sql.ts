import { AGENT_ROWS } from './agent-rows.sql.ts';
import { DAY_ROWS } from './day-rows.sql.ts';
import { insertNewEvents } from './events.sql.ts';
import { runRows } from './run-rows.sql.ts';

/**
 * Moves every total by what events amount to that were inserted in the same transaction. `$1`, `$2` and `$3` are rows of
 * runs, agents and days (`TotalRows`).
 *
 * Rows are touched in one order everywhere (events by key, then runs, agents and days by key), and each step reads the
 * one before it, so replicas wait for each other but never in a circle. Every update is commutative: sums, least and
 * greatest, and "the later event decides" by its place (`<occurred_at>/<event_id>`).
 */
export const ADD_TOTALS = `with ${runRows('')}, ${AGENT_ROWS} ${DAY_ROWS}`;

/** Both in one: events that are all new, `$4`, and their totals. Fails with a unique violation where one is not. */
export const RECORD_NEW_EVENTS = `
with stored as (${insertNewEvents('$4')}),
${
  // Always true; what it says is that the events come before their runs.
  runRows('where (select count(*) from stored) >= 0')
},
${AGENT_ROWS}
${DAY_ROWS}`;
