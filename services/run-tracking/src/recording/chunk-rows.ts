import { RowArray } from '@agentlens/database';
import { type RunTotals, sumOfAll } from '@agentlens/runs';
import type { ChunkEvent } from './chunk-events.ts';
import type { Tallies } from './chunk-tallies.ts';
import { EVENT_COLUMNS } from './event-columns.ts';
import type { RowTypes } from './row-types.ts';
import {
  AGENT_COLUMNS,
  type CountedAgent,
  type CountedDay,
  type CountedRun,
  DAY_COLUMNS,
  RUN_COLUMNS,
} from './total-columns.ts';

/** The rows of one statement; they can be cleared and used for the next one. */
export class ChunkRows {
  readonly events: RowArray<ChunkEvent>;
  readonly #runs: RowArray<CountedRun>;
  readonly #agents: RowArray<CountedAgent>;
  readonly #days: RowArray<CountedDay>;

  constructor(readonly types: RowTypes) {
    this.events = new RowArray(types.event_row, EVENT_COLUMNS);
    this.#runs = new RowArray(types.run_row_2, RUN_COLUMNS);
    this.#agents = new RowArray(types.agent_row, AGENT_COLUMNS);
    this.#days = new RowArray(types.day_row, DAY_COLUMNS);
  }

  /** What these add to the tables. @throws RangeError where a total is too big to be exact */
  addTotals(tallies: Tallies): void {
    for (const [tenantId, tally] of tallies) {
      for (const run of tally.runs.values()) this.#runs.add({ tenantId, run, totals: exact(run.totals) });
      for (const agent of tally.agents.values()) {
        this.#agents.add({ tenantId, agent, totals: sumOfAll(agent.days.values()) });
        for (const [day, totals] of agent.days) {
          this.#days.add({ tenantId, agentId: agent.agentId, day, totals: exact(totals) });
        }
      }
    }
  }

  /** Arrays of `run_row_2`, `agent_row` and `day_row`. */
  totals(): readonly Buffer[] {
    return [this.#runs, this.#agents, this.#days].map((rows) => rows.toBuffer());
  }

  clear(): void {
    for (const rows of [this.events, this.#runs, this.#agents, this.#days]) rows.clear();
  }
}

function exact(totals: RunTotals): RunTotals {
  for (const total of Object.values(totals)) {
    if (typeof total === 'number' && !Number.isSafeInteger(total)) throw new RangeError('a total is too big');
  }
  return totals;
}
