import type { EventBatch } from '@agentlens/contracts';
import { RowArray, readRowTypes } from '@agentlens/database';
import type { Tally } from '@agentlens/runs';
import type { Pool, PoolClient } from 'pg';
import { type EventKey, talliesOf } from './chunk-tallies.ts';
import { COUNT_CONFLICTS } from './count-conflicts.sql.ts';
import { isRepetition } from './database-fault.ts';
import { eventRow } from './event-row.ts';
import { INSERT_MISSING_EVENTS } from './events.sql.ts';
import { ADD_TOTALS, RECORD_NEW_EVENTS } from './record.sql.ts';
import { ROW_TYPES, type RowTypes } from './row-types.ts';
import { totalRows } from './total-rows.ts';

/** Room for what rows have beyond the text they come from, bytes; there is seldom any. */
const ROOM_BYTES = 4_096;
/** Perhaps a number that is infinite once it was read, and would be written down as null: such text is sent as it is. */
const HUGE_NUMBER = /[:,[]\s*-?[\d.]+[eE]\+?\d{3}/;

/** Batches of any tenants, and how many events they hold. */
export interface Chunk {
  /** Each as JSON text. */
  readonly batches: readonly string[];
  readonly eventCount: number;
  /** Some of it was delivered before, so that it may well be stored already. */
  readonly redelivered?: boolean;
}

export interface Recorded {
  readonly stored: number;
  /** Events that were there already, or twice in this chunk. */
  readonly duplicates: number;
  /** Duplicates of the same id and time whose contents differ from what is stored. */
  readonly conflicts: number;
  /** Runs that changed, with their tenant. */
  readonly runs: readonly (readonly [tenantId: string, runId: string])[];
}

/**
 * Where events become rows and totals. What is counted is what was inserted, in the same transaction: an event that comes
 * again, in whatever company, changes nothing.
 *
 * Nearly all events come once. So a chunk is first taken for new: its totals are known before it is sent, and one
 * statement stores both or fails for an event that is there already. Only then it is asked which events are missing.
 */
export class EventStore {
  #types: Promise<RowTypes> | undefined;

  constructor(private readonly pool: Pool) {}

  /** All or nothing, at most once per event; safe to repeat after any error. @throws what Postgres says. */
  async record(chunk: Chunk): Promise<Recorded> {
    const types = await this.#rowTypes();
    try {
      if (chunk.redelivered !== true && !chunk.batches.some((batch) => HUGE_NUMBER.test(batch))) {
        try {
          return await this.#recordNew(chunk, types);
        } catch (error) {
          if (!isRepetition(error)) throw error;
        }
      }
      return await this.#recordMissing(chunk, types);
    } catch (error) {
      // Of another database than before, restored maybe, they are others.
      this.#types = undefined;
      throw error;
    }
  }

  async #rowTypes(): Promise<RowTypes> {
    this.#types ??= readRowTypes(this.pool, ROW_TYPES);
    try {
      return await this.#types;
    } catch (error) {
      this.#types = undefined;
      throw error;
    }
  }

  async #recordNew({ batches, eventCount }: Chunk, types: RowTypes): Promise<Recorded> {
    const events = new RowArray(
      types.event_row,
      batches.reduce((sum, { length }) => sum + length, ROOM_BYTES),
    );
    const tallies = talliesOf(batches, { counted: (batch, event) => events.add(eventRow(batch, event)) });
    const { runs, agents, days } = totalRows(tallies, types);
    const values = [runs, agents, days, events.toBuffer()];
    await this.pool.query({ name: 'record-new-events', text: RECORD_NEW_EVENTS, values });
    return { stored: eventCount, duplicates: 0, conflicts: 0, runs: runsOf(tallies) };
  }

  async #recordMissing({ batches, eventCount }: Chunk, types: RowTypes): Promise<Recorded> {
    const json = `[${batches.join(',')}]`;
    const { stored, runs } = await this.#inTransaction(async (client) => {
      const { rows } = await client.query<EventKey>({
        name: 'insert-missing-events',
        text: INSERT_MISSING_EVENTS,
        values: [json],
      });
      const tallies = talliesOf(batches, { only: rows });
      const totals = totalRows(tallies, types);
      const values = [totals.runs, totals.agents, totals.days];
      if (rows.length > 0) await client.query({ name: 'add-totals', text: ADD_TOTALS, values });
      return { stored: rows.length, runs: runsOf(tallies) };
    });
    const duplicates = Math.max(0, eventCount - stored);
    return { stored, duplicates, conflicts: duplicates === 0 ? 0 : await this.#conflicts(json), runs };
  }

  async #inTransaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let failed = true;
    try {
      await client.query('begin');
      const result = await work(client);
      await client.query('commit');
      failed = false;
      return result;
    } finally {
      // Ends a session whose transaction is in doubt; nothing of it stands.
      client.release(failed);
    }
  }

  /** Apart, because to look for a stored event every partition is opened, and hardly any chunk needs it. */
  async #conflicts(json: string): Promise<number> {
    const { rows } = await this.pool.query<{ conflicts: number }>({
      name: 'count-conflicts',
      text: COUNT_CONFLICTS,
      values: [json],
    });
    return rows[0]?.conflicts ?? 0;
  }
}

/** @throws RangeError where an event cannot be written down as it is. */
export function chunkOf(batches: readonly EventBatch[]): Chunk {
  const eventCount = batches.reduce((sum, batch) => sum + batch.events.length, 0);
  return { batches: batches.map((batch) => JSON.stringify(batch, asItIs)), eventCount };
}

/** JSON text can hold a number that JavaScript reads as infinite, and would write as null. */
function asItIs(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number is too big');
  return value;
}

function runsOf(tallies: ReadonlyMap<string, Tally>): Recorded['runs'] {
  return [...tallies].flatMap(([tenantId, { runs }]) => Array.from(runs.keys(), (runId) => [tenantId, runId] as const));
}
