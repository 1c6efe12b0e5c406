import type { EventsTable, Tables } from '@agentlens/database';
import { type RawBuilder, type Selectable, type SelectQueryBuilder, sql } from 'kysely';
import type { Position } from '../http/cursor.ts';
import type { JsonOf } from '../http/json-of.ts';
import { type Page, pageOf } from '../http/page.ts';
import type { ReadOnly } from '../http/tenant-reads.ts';
import type { StoredEvent } from './stored-event.ts';

type Column = keyof EventsTable;
type EventRows = SelectQueryBuilder<Tables, 'events', Selectable<EventsTable>>;

/** JSON text escapes control characters, so none is in what stands between two of these. */
const SEPARATOR = '\u001f';

/** Each member of a StoredEvent as the JSON text the database makes of its column. */
const USAGE: Readonly<Record<keyof StoredEvent['usage'], RawBuilder<unknown>>> = {
  inputTokens: nullable('input_tokens'),
  outputTokens: nullable('output_tokens'),
  totalTokens: nullable('total_tokens'),
  costUsd: nullable('cost_usd'),
  costSource: nullable('cost_source'),
  latencyMs: nullable('latency_ms'),
};
const MEMBERS: Readonly<Record<Exclude<keyof StoredEvent, 'prevHash' | 'usage'>, RawBuilder<unknown>>> = {
  id: json('event_id'),
  timestamp: instant('occurred_at'),
  sessionId: json('run_id'),
  agentId: json('agent_id'),
  eventType: json('source_type'),
  severity: json('severity'),
  payload: sql.ref('payload'),
  metadata: sql.ref('metadata'),
  hash: json('hash'),
  tenantId: json('tenant_id'),
  kind: json('kind'),
  dialect: json('dialect'),
  isError: json('is_error'),
  tags: json('tags'),
  toolName: nullable('tool_name'),
  callId: nullable('call_id'),
  model: nullable('model'),
  provider: nullable('provider'),
  receivedAt: instant('received_at'),
};

/** What stands before each value, so that all of them together are one object. */
const BEFORE = [
  ...Object.keys(MEMBERS).map((name, i) => `${i === 0 ? '{"prevHash":null,' : ','}"${name}":`),
  ...Object.keys(USAGE).map((name, i) => `${i === 0 ? ',"usage":{' : ','}"${name}":`),
];

/**
 * The values of a row of `events`, for `writtenEvent`. They come in one column: to read each into an object, contents and all,
 * and to write that again, costs this service twice the CPU. Their names cost the database more than they cost here.
 */
export const eventValues = sql<string>`concat_ws(${sql.lit(SEPARATOR)}, ${sql.join([...Object.values(MEMBERS), ...Object.values(USAGE)])})`;

/** A row of `events` as it is answered. */
export function writtenEvent(values: string): JsonOf<StoredEvent> {
  let written = '';
  let i = 0;
  for (const value of values.split(SEPARATOR)) written += `${BEFORE[i++]}${value}`;
  return `${written}}}`;
}

function json(column: Column): RawBuilder<unknown> {
  return sql`to_json(${sql.ref(column)})`;
}

/** `concat_ws` leaves out what is null. */
function nullable(column: Column): RawBuilder<unknown> {
  return sql`coalesce(${json(column)}::text, 'null')`;
}

/** As everywhere, UTC with milliseconds; the session is in UTC. */
function instant(column: Column): RawBuilder<unknown> {
  return sql`to_char(${sql.ref(column)}, '\\"YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\\"')`;
}

/** The events of a query by time. Written once they are picked, so that what is passed over is not. */
export async function writtenEvents(
  db: ReadOnly,
  picked: EventRows,
  order: 'asc' | 'desc',
): Promise<JsonOf<StoredEvent>[]> {
  const rows = await db
    .selectFrom(picked.orderBy('occurred_at', order).orderBy('event_id', order).as('event'))
    .select(eventValues.as('values'))
    .orderBy('occurred_at', order)
    .orderBy('event_id', order)
    .execute();
  return rows.map(({ values }) => writtenEvent(values));
}

/** One page of written events out of `limit + 1`. */
export function eventPage(
  list: string,
  events: readonly JsonOf<StoredEvent>[],
  limit: number,
): Page<JsonOf<StoredEvent>> {
  return pageOf(list, events, limit, placeOf, (event) => event);
}

function placeOf(event: JsonOf<StoredEvent>): Position {
  const { timestamp, id } = JSON.parse(event) as StoredEvent;
  return { at: timestamp, id };
}
