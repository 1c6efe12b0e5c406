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

/** Batches of any tenants, and the number of their events. */
export interface EventChunk {
  /** Each is JSON in UTF-8. */
  readonly batches: readonly Uint8Array[];
  readonly eventCount: number;
  /** Some messages were redelivered, so their events may be stored already. */
  readonly redelivered?: boolean;
}

export interface RecordedEvents {
  readonly stored: number;
  /** Events that were stored already or are twice in the chunk. */
  readonly duplicates: number;
  /** Duplicates whose contents differ from the stored event. */
  readonly conflicts: number;
  /** Events dropped because their run was deleted. */
  readonly deleted: number;
  /** Changed runs, with their tenant. */
  readonly runs: readonly (readonly [tenantId: string, runId: string])[];
}

/**
 * Stores events and updates totals in one transaction. Only inserted events are counted, so a duplicate changes
 * nothing.
 *
 * Nearly all events are new. The store therefore first assumes that a chunk is new: it computes the totals in advance,
 * and one statement stores both or fails on a duplicate. Only then it inserts the missing events and computes their
 * totals.
 */
export class EventStore {
  #types: Promise<RowTypes> | undefined;
  /** Rows of finished statements, for reuse. */
  readonly #spare: ChunkRows[] = [];

  constructor(private readonly pool: Pool) {}

  /** All or nothing, at most once per event; safe to retry after any error. @throws database errors */
  async record(chunk: EventChunk): Promise<RecordedEvents> {
    const types = await this.#rowTypes();
    try {
      if (chunk.redelivered !== true) {
        try {
          return await this.#recordNew(chunk, types);
        } catch (error) {
          // A duplicate, or a form that the fast path does not read, such as numbers beyond JavaScript's range.
          if (databaseFault(error) !== 'data') throw error;
        }
      }
      return await this.#recordMissing(chunk, types);
    } catch (error) {
      // The type ids differ if the database was restored.
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
    if (tallies === undefined) throw new UnreadableChunk('a chunk does not have the stated number of events');
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

  /** Rows that no running statement uses. */
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
      // Ends a session whose transaction is in doubt; nothing of it is committed.
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

  /** A query of its own, because it opens every partition and hardly any chunk needs it. */
  async #conflicts(json: string): Promise<number> {
    const { rows } = await this.pool.query<{ conflicts: number }>({
      name: 'count-conflicts',
      text: COUNT_CONFLICTS,
      values: [json],
    });
    return rows[0]?.conflicts ?? 0;
  }
}

/** @throws RangeError if an event cannot be encoded exactly */
export function chunkOf(batches: readonly EventBatch[]): EventChunk {
  const eventCount = batches.reduce((sum, batch) => sum + batch.events.length, 0);
  return { batches: batches.map((batch) => Buffer.from(jsonText(batch))), eventCount };
}

/** Adds a row per event. Returns undefined if the number of events differs from `eventCount`. */
function taken({ batches, eventCount }: EventChunk, read: ReadBatch, rows: ChunkRows): Tallies | undefined {
  rows.clear();
  const tallies = talliesOfAll(batches, read, (event) => rows.events.add(event));
  return rows.events.count === eventCount ? tallies : undefined;
}

function runsOf(tallies: Tallies): RecordedEvents['runs'] {
  return [...tallies].flatMap(([tenantId, { runs }]) => Array.from(runs.keys(), (runId) => [tenantId, runId] as const));
}
