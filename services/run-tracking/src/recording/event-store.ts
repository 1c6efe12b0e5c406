import type { EventBatch } from '@agentlens/contracts';
import type { Tally } from '@agentlens/runs';
import type { Pool, PoolClient } from 'pg';
import { type EventKey, talliesOf } from './chunk-tallies.ts';
import { COUNT_CONFLICTS } from './count-conflicts.sql.ts';
import { isRepetition } from './database-fault.ts';
import { INSERT_MISSING_EVENTS } from './events.sql.ts';
import { ADD_TOTALS, RECORD_NEW_EVENTS } from './record.sql.ts';
import { totalRows } from './total-rows.ts';

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
  constructor(private readonly pool: Pool) {}

  /** All or nothing, at most once per event; safe to repeat after any error. @throws what Postgres says. */
  async record(chunk: Chunk): Promise<Recorded> {
    const json = `[${chunk.batches.join(',')}]`;
    if (chunk.redelivered !== true) {
      try {
        return await this.#recordNew(chunk, json);
      } catch (error) {
        if (!isRepetition(error)) throw error;
      }
    }
    return this.#recordMissing(chunk, json);
  }

  async #recordNew({ batches, eventCount }: Chunk, json: string): Promise<Recorded> {
    const tallies = talliesOf(batches);
    const { runs, agents, days } = totalRows(tallies);
    await this.pool.query({ name: 'record-new-events', text: RECORD_NEW_EVENTS, values: [runs, agents, days, json] });
    return { stored: eventCount, duplicates: 0, conflicts: 0, runs: runsOf(tallies) };
  }

  async #recordMissing({ batches, eventCount }: Chunk, json: string): Promise<Recorded> {
    const { stored, runs } = await this.#inTransaction(async (client) => {
      const { rows } = await client.query<EventKey>({
        name: 'insert-missing-events',
        text: INSERT_MISSING_EVENTS,
        values: [json],
      });
      const tallies = talliesOf(batches, rows);
      const totals = totalRows(tallies);
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
