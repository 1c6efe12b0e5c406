import {
  getSession,
  getSessionTimeline,
  listSessions,
  type RequestOf,
  SESSIONS_LIST,
  type Session,
  type SessionFilter,
  type SessionStatus,
  TIMELINE,
  type TimelineQuery,
  type Total,
  withEnds,
} from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, port, Serves } from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { eventPage } from '../events/event-page.ts';
import { answerOf, type Page, pageOf, totalOf, type WrittenPage } from '../http/page.ts';
import { foundOr404, type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { eventsOfRun, spanOfRow } from '../runs/run-span.ts';
import { IDLE_AFTER_MS } from '../runs/run-view.ts';
import { RUN_STATUSES_OF, sessionFromRow } from './session.ts';

@Injectable()
export class SessionsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async count(tenantId: string, filter: SessionFilter): Promise<number> {
    return this.reads.read(tenantId, (db) => this.#count(db, tenantId, withEnds(filter, this.clock.now())));
  }

  async list(tenantId: string, asked: SessionFilter): Promise<Page<Session> & Total> {
    const now = this.clock.now();
    const filter = withEnds(asked, now);
    const { rows, total } = await this.reads.read(tenantId, async (db) => ({
      rows: await this.#pageRows(db, tenantId, filter),
      total: await totalOf(db, this.#matching(db, tenantId, filter)),
    }));
    const page = pageOf(
      SESSIONS_LIST,
      rows,
      filter.limit,
      (row) => ({ at: row.started_at, id: row.run_id }),
      (row) => sessionFromRow(row, now),
    );
    return { ...page, ...total };
  }

  async get(tenantId: string, runId: string): Promise<Session | undefined> {
    return (await this.byIds(tenantId, [runId]))[0];
  }

  async byIds(tenantId: string, runIds: readonly string[]): Promise<Session[]> {
    const rows = await this.reads.read(tenantId, (db) =>
      db.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId).where('run_id', 'in', runIds).execute(),
    );
    return rows.map((row) => sessionFromRow(row, this.clock.now()));
  }

  /** Returns undefined for an unknown session. */
  async timeline(tenantId: string, runId: string, query: TimelineQuery): Promise<WrittenPage | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const run = await db
        .selectFrom('runs')
        .select(['started_at', 'last_event_at'])
        .where('tenant_id', '=', tenantId)
        .where('run_id', '=', runId)
        .executeTakeFirst();
      return run && eventPage(db, TIMELINE, eventsOfRun(db, tenantId, runId, spanOfRow(run)), query);
    });
  }

  #pageRows(db: ReadOnly, tenantId: string, filter: SessionFilter) {
    let query = this.#matching(db, tenantId, filter).selectAll();
    if (filter.cursor !== undefined) {
      query = query.where(sql<boolean>`(started_at, run_id) < (${filter.cursor.at}::timestamptz, ${filter.cursor.id})`);
    }
    return query
      .orderBy('started_at', 'desc')
      .orderBy('run_id', 'desc')
      .limit(filter.limit + 1)
      .offset(filter.offset)
      .execute();
  }

  async #count(db: ReadOnly, tenantId: string, filter: SessionFilter): Promise<number> {
    const counted = this.#matching(db, tenantId, filter).select((eb) => eb.fn.countAll<number>().as('total'));
    return (await counted.executeTakeFirstOrThrow()).total;
  }

  #matching(db: ReadOnly, tenantId: string, filter: SessionFilter) {
    let query = db.selectFrom('runs').where('tenant_id', '=', tenantId);
    if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
    if (filter.from !== undefined) query = query.where('started_at', '>=', filter.from);
    if (filter.to !== undefined) query = query.where('started_at', '<=', filter.to);
    if (filter.tags !== undefined) query = query.where(sql<boolean>`tags && ${filter.tags}::text[]`);
    const statuses = filter.status;
    if (statuses !== undefined) query = query.where((eb) => eb.or(statuses.map((status) => this.#hasStatus(status))));
    return query;
  }

  /** The SQL condition that corresponds to `sessionStatus`. */
  #hasStatus(status: SessionStatus) {
    const idleSince = new Date(this.clock.now() - IDLE_AFTER_MS).toISOString();
    switch (status) {
      case 'active':
        return sql<boolean>`(status = 'running' and last_event_at >= ${idleSince})`;
      case 'idle':
        return sql<boolean>`(status = 'running' and last_event_at < ${idleSince})`;
      case 'completed':
      case 'error':
        return sql<boolean>`status = any(${[...RUN_STATUSES_OF[status]]}::text[])`;
    }
  }
}

@Controller()
export class SessionsController {
  constructor(private readonly sessions: SessionsQueries) {}

  @Serves(listSessions)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listSessions>) {
    const filter = query;
    if (filter.countOnly) return { count: await this.sessions.count(caller.tenantId, filter) };
    const { items, ...page } = await this.sessions.list(caller.tenantId, filter);
    return { sessions: items, ...page };
  }

  @Serves(getSession)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getSession>) {
    return foundOr404('Session', await this.sessions.get(caller.tenantId, id));
  }

  @Serves(getSessionTimeline)
  async timeline(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof getSessionTimeline>,
  ) {
    const page = await this.sessions.timeline(caller.tenantId, id, query);
    const { items, ...rest } = foundOr404('Session', page);
    return answerOf('events', items, { ...rest, chained: false, chainValid: true });
  }
}
