import { setTimeout as pause } from 'node:timers/promises';
import {
  EVENTS_LIST,
  type EventFilter,
  getEvent,
  listEvents,
  type RequestOf,
  type StoredEvent,
  type Total,
  withEnds,
} from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, port, Serves } from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { answerOf, totalOf, type WrittenPage } from '../http/page.ts';
import { foundOr404, type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { containsText } from '../search/contained-text.ts';
import { eventPage } from './event-page.ts';
import { eventFromRow } from './stored-event.ts';

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_TIME_LENGTH = 10;

/** Returns the creation time in a time-ordered id (UUIDv7 or ULID), in ms. Returns null for any other id. */
export function timeInId(id: string): number | null {
  const uuid = UUID_V7.exec(id);
  if (uuid !== null) return Number.parseInt(`${uuid[1]}${uuid[2]}`, 16);
  if (!ULID.test(id)) return null;
  let ms = 0;
  for (const character of id.slice(0, ULID_TIME_LENGTH).toUpperCase()) ms = ms * 32 + CROCKFORD.indexOf(character);
  return ms;
}

/** Maximum expected difference between the time in an event's id and the event's own time. */
const NEAR_MS = 3_600_000;
/** Age up to which an accepted event may not be stored yet, and how often and long a read waits for it. */
const NEW_MS = 5_000;
const LOOK_EVERY_MS = 100;
const MAX_LOOKS = 20;
const LATEST_MS = Date.parse('9999-01-01T00:00:00.000Z');

@Injectable()
export class EventsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: EventFilter): Promise<WrittenPage & Total> {
    return this.reads.read(tenantId, async (db) => {
      const found = matching(db, tenantId, withEnds(filter, this.clock.now()));
      const page = await eventPage(db, EVENTS_LIST, found, filter, filter.order);
      return { ...page, ...(await totalOf(db, found)) };
    });
  }

  /** Waits for an event that is too new to be stored: with six services, a 201 precedes the row. */
  async get(tenantId: string, eventId: string): Promise<StoredEvent | undefined> {
    let row = await this.reads.read(
      tenantId,
      async (db) => (await rowNear(db, tenantId, eventId)) ?? anyRow(db, tenantId, eventId).executeTakeFirst(),
    );
    for (let looks = 0; row === undefined && looks < MAX_LOOKS && this.#isNew(eventId); looks++) {
      await pause(LOOK_EVERY_MS);
      row = await this.reads.read(tenantId, (db) => rowNear(db, tenantId, eventId));
    }
    return row && eventFromRow(row);
  }

  #isNew(eventId: string): boolean {
    const time = timeInId(eventId);
    return time !== null && Math.abs(this.clock.now() - time) < NEW_MS;
  }
}

function anyRow(db: ReadOnly, tenantId: string, eventId: string) {
  return db
    .selectFrom('events')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('event_id', '=', eventId)
    .orderBy('occurred_at', 'desc')
    .limit(1);
}

/**
 * Events are partitioned by time. If the id contains a time, this searches a few partitions around it instead of all.
 */
async function rowNear(db: ReadOnly, tenantId: string, eventId: string) {
  const time = timeInId(eventId);
  if (time === null || time > LATEST_MS) return undefined;
  return anyRow(db, tenantId, eventId)
    .where('occurred_at', '>=', new Date(Math.max(0, time - NEAR_MS)).toISOString())
    .where('occurred_at', '<=', new Date(time + NEAR_MS).toISOString())
    .executeTakeFirst();
}

function matching(db: ReadOnly, tenantId: string, filter: EventFilter) {
  let query = db.selectFrom('events').where('tenant_id', '=', tenantId);
  if (filter.sessionId !== undefined) query = query.where('run_id', '=', filter.sessionId);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.severity !== undefined) query = query.where('severity', 'in', filter.severity);
  if (filter.from !== undefined) query = query.where('occurred_at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('occurred_at', '<=', filter.to);
  const types = filter.eventType;
  if (types !== undefined) {
    query = query.where((eb) => eb.or([eb('source_type', 'in', types), eb('kind', 'in', types)]));
  }
  if (filter.search !== undefined) {
    query = query.where(containsText(sql`payload::text`, filter.search));
  }
  if (filter.excludeMetrics) {
    query = query.where(sql<boolean>`kind <> 'cost.recorded'
      and not (kind = 'custom.recorded' and coalesce(payload->>'type', '') ~ '(^|_)metrics?$')`);
  }
  return query;
}

@Controller()
export class EventsController {
  constructor(private readonly events: EventsQueries) {}

  @Serves(listEvents)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listEvents>) {
    const { items, ...page } = await this.events.list(caller.tenantId, query);
    return answerOf('events', items, page);
  }

  @Serves(getEvent)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getEvent>) {
    return foundOr404('Event', await this.events.get(caller.tenantId, id));
  }
}
