import type { AlertsTable, Tables } from '@agentlens/database';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { ChannelRow } from './channels.repository.ts';

interface Waiting<K, V> {
  readonly key: K;
  readonly done: PromiseWithResolvers<V | undefined>;
}

/**
 * Reads with one statement what is asked for in one turn of the event loop. Notices are sent many at a time, and a round
 * trip for each would add up. A read begins after it was asked for, so it is never older than the question.
 */
export class GatheredReads<K, V> {
  #waiting: Waiting<K, V>[] = [];

  constructor(
    /** Reads these keys; each is found under `nameKey` of it. */
    private readonly readAll: (keys: readonly K[]) => Promise<ReadonlyMap<string, V>>,
    private readonly nameKey: (key: K) => string,
  ) {}

  read(key: K): Promise<V | undefined> {
    const done = Promise.withResolvers<V | undefined>();
    this.#waiting.push({ key, done });
    if (this.#waiting.length === 1) setImmediate(() => void this.#readWaiting());
    return done.promise;
  }

  async #readWaiting(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const found = await this.readAll(batch.map(({ key }) => key));
      for (const { key, done } of batch) done.resolve(found.get(this.nameKey(key)));
    } catch (error) {
      for (const { done } of batch) done.reject(error);
    }
  }
}

export interface RowKey {
  readonly tenantId: string;
  readonly id: string;
}

export function nameKey({ tenantId, id }: RowKey): string {
  return JSON.stringify([tenantId, id]);
}

export async function readChannelRows(
  db: Kysely<Tables>,
  keys: readonly RowKey[],
): Promise<ReadonlyMap<string, ChannelRow>> {
  const { rows } = await sql<ChannelRow>`
    select * from channels where (tenant_id, channel_id) in (${pairsFrom(keys)})
  `.execute(db);
  return new Map(rows.map((row) => [nameKey({ tenantId: row.tenant_id, id: row.channel_id }), row]));
}

export async function readAlertRows(
  db: Kysely<Tables>,
  keys: readonly RowKey[],
): Promise<ReadonlyMap<string, Selectable<AlertsTable>>> {
  const { rows } = await sql<Selectable<AlertsTable>>`
    select a.* from (${pairsFrom(keys)}) as k (tenant_id, alert_id) join alerts a using (tenant_id, alert_id)
  `.execute(db);
  return new Map(rows.map((row) => [nameKey({ tenantId: row.tenant_id, id: row.alert_id }), row]));
}

function pairsFrom(keys: readonly RowKey[]) {
  const known = [...new Map(keys.map((key) => [nameKey(key), key])).values()];
  return sql`select * from unnest(${known.map(({ tenantId }) => tenantId)}::text[], ${known.map(({ id }) => id)}::text[])`;
}
