import type { EventBatch } from '@agentlens/contracts';
import type { Pool } from 'pg';
import { COUNT_CONFLICTS } from './count-conflicts.sql.ts';
import { RECORD_EVENTS } from './record-events.sql.ts';

/** Batches of any tenants as JSON text, and how many events they hold. */
export interface Chunk {
  readonly json: string;
  readonly eventCount: number;
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

/** Where events become rows and totals. */
export class EventStore {
  constructor(private readonly pool: Pool) {}

  /** All or nothing, at most once per event; safe to repeat after any error. @throws what Postgres says. */
  async record(chunk: Chunk): Promise<Recorded> {
    const { rows } = await this.pool.query<Pick<Recorded, 'stored' | 'runs'>>({
      name: 'record-events',
      text: RECORD_EVENTS,
      values: [chunk.json],
    });
    const { stored = 0, runs = [] } = rows[0] ?? {};
    const duplicates = Math.max(0, chunk.eventCount - stored);
    return { stored, duplicates, conflicts: duplicates === 0 ? 0 : await this.#conflicts(chunk), runs };
  }

  /** Apart, because to look for a stored event every partition is opened, and hardly any chunk needs it. */
  async #conflicts({ json }: Chunk): Promise<number> {
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
  return { json: JSON.stringify(batches, asItIs), eventCount };
}

/** JSON text can hold a number that JavaScript reads as infinite, and would write as null. */
function asItIs(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number is too big');
  return value;
}
