import { type EventBatch, utf8Text } from '@agentlens/contracts';
import { readRowTypes } from '@agentlens/database';
import type { Pool, PoolClient } from 'pg';
import { ChunkRows, ROW_TYPES, type RowTypes } from './chunk-rows.ts';
import {
  asParsed,
  asWritten,
  type EventKey,
  jsonText,
  type ReadBatch,
  type Tallies,
  talliesOf,
  talliesOfAll,
  UnreadableChunk,
} from './chunk-tallies.ts';
import { databaseFault } from './database-fault.ts';
import {
  ADD_TOTALS,
  COUNT_CONFLICTS,
  COUNT_DELETED,
  INSERT_MISSING_EVENTS,
  RECORD_NEW_EVENTS,
} from './recording.sql.ts';

/** Batches of any tenants, and how many events they hold. */
export interface EventChunk {
  /** Each as JSON in UTF-8. */
  readonly batches: readonly Uint8Array[];
  readonly eventCount: number;
  /** Some of it was delivered before, so that it may well be stored already. */
  readonly redelivered?: boolean;
}

export interface RecordedEvents {
  readonly stored: number;
  /** Events that were there already, or twice in this chunk. */
  readonly duplicates: number;
  /** Duplicates of the same id and time whose contents differ from what is stored. */
  readonly conflicts: number;
  /** Events that were dropped because their run was deleted. */
  readonly deleted: number;
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
  /** Rows of statements that are over. */
  readonly #spare: ChunkRows[] = [];

  constructor(private readonly pool: Pool) {}

  /** All or nothing, at most once per event; safe to repeat after any error. @throws what Postgres says. */
  async record(chunk: EventChunk): Promise<RecordedEvents> {
    const types = await this.#rowTypes();
    try {
      if (chunk.redelivered !== true) {
        try {
          return await this.#recordNew(chunk, types);
        } catch (error) {
          // Something is there already, or is not what it was taken for: numbers beyond JavaScript's, another form.
          if (databaseFault(error) !== 'data') throw error;
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

  async #recordNew(chunk: EventChunk, types: RowTypes): Promise<RecordedEvents> {
    const rows = this.#rowsFor(types);
    const tallies = taken(chunk, asWritten, rows) ?? taken(chunk, asParsed, rows);
    if (tallies === undefined)
      throw new UnreadableChunk('a chunk holds more or fewer events than were said to be there');
    rows.addTotals(tallies);
    const values = [...rows.totals(), rows.events.toBuffer()];
    await this.pool.query({ name: 'record-new-events', text: RECORD_NEW_EVENTS, values });
    this.#spare.push(rows);
    return { stored: chunk.eventCount, duplicates: 0, conflicts: 0, deleted: 0, runs: runsOf(tallies) };
  }

  async #recordMissing({ batches, eventCount }: EventChunk, types: RowTypes): Promise<RecordedEvents> {
    const json = `[${batches.map(utf8Text).join(',')}]`;
    const { stored, runs } = await this.#inTransaction(async (client) => {
      const { rows: keys } = await client.query<EventKey>({
        name: 'insert-missing-events',
        text: INSERT_MISSING_EVENTS,
        values: [json],
      });
      const tallies = talliesOf(batches, keys);
      const rows = new ChunkRows(types);
      rows.addTotals(tallies);
      if (keys.length > 0) await client.query({ name: 'add-totals', text: ADD_TOTALS, values: [...rows.totals()] });
      return { stored: keys.length, runs: runsOf(tallies) };
    });
    const deleted = stored === eventCount ? 0 : await this.#deleted(json);
    const duplicates = Math.max(0, eventCount - stored - deleted);
    return { stored, duplicates, conflicts: duplicates === 0 ? 0 : await this.#conflicts(json), deleted, runs };
  }

  /** Some that no statement under way is sent from. */
  #rowsFor(types: RowTypes): ChunkRows {
    const rows = this.#spare.pop();
    return rows?.types === types ? rows : new ChunkRows(types);
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

  async #deleted(json: string): Promise<number> {
    const { rows } = await this.pool.query<{ deleted: number }>({
      name: 'count-deleted',
      text: COUNT_DELETED,
      values: [json],
    });
    return rows[0]?.deleted ?? 0;
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
export function chunkOf(batches: readonly EventBatch[]): EventChunk {
  const eventCount = batches.reduce((sum, batch) => sum + batch.events.length, 0);
  return { batches: batches.map((batch) => Buffer.from(jsonText(batch))), eventCount };
}

/** Makes a row of each event. Undefined where they are not as many as were said to be there. */
function taken({ batches, eventCount }: EventChunk, read: ReadBatch, rows: ChunkRows): Tallies | undefined {
  rows.clear();
  const tallies = talliesOfAll(batches, read, (event) => rows.events.add(event));
  return rows.events.count === eventCount ? tallies : undefined;
}

function runsOf(tallies: Tallies): RecordedEvents['runs'] {
  return [...tallies].flatMap(([tenantId, { runs }]) => Array.from(runs.keys(), (runId) => [tenantId, runId] as const));
}
