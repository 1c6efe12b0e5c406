import { type AgentEvent, batchBody, type EventBatch, writeEvent } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { type Ledger, ledgerOf, statusOf, usdOf } from '@agentlens/runs';
import { aBatch, anEvent, eventually, type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import pg from 'pg';
import { databaseFault } from './database-fault.ts';
import { chunkOf, EventStore } from './event-store.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');
let tenants = 0;

const anyActor = fc.constantFrom({ externalId: 'ann', name: 'Ann' }, { externalId: 'ben' }, { externalId: 7 }, 'ann');
const anyTool = fc.record(
  {
    name: fc.constantFrom('search', 'pay', 'Zoom', 'ü', 4),
    description: fc.constantFrom('one', 'two'),
    tags: fc.subarray(['t']),
  },
  { requiredKeys: ['name'] },
);
/** A JSON value as on the wire, where -0 is written as 0. */
const anyResult = fc.jsonValue({ maxDepth: 1, noUnicodeString: true }).map((one) => JSON.parse(JSON.stringify(one)));

/** Payloads that clients send, and unusual ones. */
const anyPayload = fc.record(
  {
    actor: anyActor,
    tags: fc.oneof(
      fc.dictionary(fc.constantFrom('team', 'Env', 'ü'), fc.oneof(fc.constantFrom('a', 'B', 'ü'), fc.constant(3))),
      fc.subarray(['x', 'y']),
    ),
    runTtlMs: fc.constantFrom(1_000, 2_500.5, -1, 1e300, '9'),
    by: fc.constantFrom('root', 'agent', 'root_agent'),
    heartbeatEveryMs: fc.constantFrom(0, 500, 900),
    parentRunId: fc.constantFrom('p0', '', 7),
    parentToolUseId: fc.constantFrom('call-1', 'call-2'),
    result: fc.oneof(anyResult, fc.constantFrom('fine', null)),
    summary: fc.constantFrom('it went well', null),
    error: fc.constantFrom('broken', { message: 'broken again' }, { code: 1 }, 4, null),
    slug: fc.constantFrom('support', ''),
    description: fc.constantFrom('Helps', 'Helps more'),
    tools: fc.array(anyTool, { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

const anyEvent = fc
  .record({
    agentId: fc.constantFrom('a', 'b'),
    runId: fc.constantFrom('r1', 'r2', 'r3'),
    dialect: fc.constantFrom('agentlens', 'handlebar', 'otlp'),
    actorId: fc.constantFrom(undefined, 'cleo'),
    payload: anyPayload,
    kind: fc.constantFrom(
      'run.started',
      'run.ended',
      'tool.called',
      'tool.completed',
      'llm.called',
      'llm.completed',
      'agent.registered',
      'custom.recorded',
    ),
    isError: fc.boolean(),
    at: fc.integer({ min: -200_000_000, max: 200_000_000 }),
    outcome: fc.constantFrom(undefined, 'succeeded', 'failed', 'cancelled', 'timed_out'),
    agentName: fc.constantFrom(undefined, 'Ann', 'Ben'),
    model: fc.constantFrom(undefined, 'small', 'large'),
    provider: fc.constantFrom(undefined, 'p'),
    sessionId: fc.constantFrom(undefined, 's', 'T', 'ü'),
    parentRunId: fc.constantFrom(undefined, 'p1', 'P2'),
    usage: fc.option(
      fc.record({
        costUsd: fc.oneof(fc.double({ min: 0, max: 10, noNaN: true }), fc.constantFrom(4e-7, 3e-9, 0.1)),
        inputTokens: fc.nat({ max: 1000 }),
        cacheReadTokens: fc.nat({ max: 1000 }),
        cacheWriteTokens: fc.nat({ max: 10 }),
        costSource: fc.constantFrom('reported', 'unpriced'),
      }),
      { nil: undefined },
    ),
    tags: fc.subarray(['x', 'Y', 'ü', '😀', '\uffee']),
  })
  .map(({ at, ...rest }) => ({ ...rest, occurredAt: new Date(NOON + at).toISOString() }) as Partial<AgentEvent>);
const anyEvents = fc
  .array(anyEvent, { minLength: 1, maxLength: 25 })
  .map((list) => list.map((fields, i) => anEvent({ ...fields, ...oneSlugEach(fields), id: `e${i}` })));

/** Matches the gateway, which derives an agent's id from its slug. */
function oneSlugEach({ agentId, payload }: Partial<AgentEvent>): Partial<AgentEvent> {
  return { payload: payload?.slug === 'support' ? { ...payload, slug: `support-${agentId}` } : payload };
}

describe('event store', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let store: EventStore;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    store = new EventStore(database.pool);
  });
  afterAll(async () => {
    await database.close();
    await fresh.drop();
  });

  const newTenant = () => `tenant-${++tenants}`;
  const record = (...batches: EventBatch[]) => store.record(chunkOf(batches));

  it('agrees with the pure fold for any events, in any batches, order and repetition, stored by two writers at once', async () => {
    const deliveries = anyEvents.chain((events) =>
      fc.tuple(
        fc.constant(events),
        fc.shuffledSubarray([...events, ...events], { minLength: events.length * 2 }),
        fc.integer({ min: 1, max: 7 }),
      ),
    );
    await fc.assert(
      fc.asyncProperty(deliveries, async ([events, delivered, size]) => {
        const tenantId = newTenant();
        const batches: EventBatch[] = [];
        for (let i = 0; i < delivered.length; i += size) {
          batches.push(aBatch({ tenantId, events: delivered.slice(i, i + size) }));
        }
        const writer = async (own: EventBatch[]) => {
          for (const batch of own) await record(batch);
        };
        await Promise.all([
          writer(batches.filter((_, i) => i % 2 === 0)),
          writer(batches.filter((_, i) => i % 2 === 1)),
        ]);

        expect(await stateOf(database, tenantId)).toMatchObject(rowsOf(ledgerOf(events)));
      }),
      { numRuns: 60 },
    );
  });

  it('counts three shuffled deliveries of everything once', async () => {
    const tenantId = newTenant();
    const events = Array.from({ length: 300 }, (_, i) =>
      anEvent({
        id: `e${i}`,
        runId: `run-${i % 7}`,
        agentId: `agent-${i % 3}`,
        isError: i % 10 === 0,
        occurredAt: new Date(NOON + i * 977).toISOString(),
        usage: { costUsd: 0.1, costSource: 'reported' },
      }),
    );
    const messages = Array.from({ length: 30 }, (_, i) =>
      aBatch({ tenantId, events: events.slice(i * 10, i * 10 + 10) }),
    );
    const deliveries = [...messages, ...messages, ...messages].sort((a, b) => (a.id + a.receivedAt < b.id ? 1 : -1));

    const results = await Promise.all(
      [0, 1, 2].map(async (writer) => {
        let stored = 0;
        for (const [i, batch] of deliveries.entries()) {
          if (i % 3 === writer) stored += (await record(batch)).stored;
        }
        return stored;
      }),
    );

    expect(results.reduce((a, b) => a + b, 0)).toBe(300);
    const runs = await database.db.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId).execute();
    expect(runs.reduce((sum, run) => sum + run.event_count, 0)).toBe(300);
    expect(Math.round(runs.reduce((sum, run) => sum + run.cost_usd, 0) * 1e6)).toBe(30_000_000);
    expect(await stateOf(database, tenantId)).toMatchObject(rowsOf(ledgerOf(events)));
  });

  it('counts an event once if two batches of a chunk contain it, and separates tenants with equal ids', async () => {
    const [one, two] = [newTenant(), newTenant()];
    const event = anEvent({ id: 'same', usage: { costUsd: 1 } });

    const recorded = await record(
      aBatch({ tenantId: one, events: [event] }),
      aBatch({ tenantId: one, events: [event, event] }),
      aBatch({ tenantId: two, events: [event] }),
    );

    expect(recorded).toMatchObject({ stored: 2, duplicates: 2, conflicts: 0 });
    expect(await stateOf(database, one)).toMatchObject(rowsOf(ledgerOf([event])));
    expect(await stateOf(database, two)).toMatchObject(rowsOf(ledgerOf([event])));
  });

  it('keeps the first of two contents under one id and time, and counts the conflict', async () => {
    const tenantId = newTenant();
    await record(aBatch({ tenantId, events: [anEvent({ id: 'x', hash: 'one', payload: { n: 1 } })] }));

    const again = await record(aBatch({ tenantId, events: [anEvent({ id: 'x', hash: 'two', payload: { n: 2 } })] }));

    expect(again).toMatchObject({ stored: 0, duplicates: 1, conflicts: 1, runs: [] });
    const row = await database.db
      .selectFrom('events')
      .select('payload')
      .where('tenant_id', '=', tenantId)
      .executeTakeFirst();
    expect(row?.payload).toEqual({ n: 1 });
  });

  it('stores the same rows on the fast path, on the slow path and for possible duplicates', async () => {
    await fc.assert(
      fc.asyncProperty(anyEvents, async (events) => {
        const [asWritten, asNew, asOld] = [newTenant(), newTenant(), newTenant()];
        await store.record(writtenChunk(aBatch({ tenantId: asWritten, events })));
        await record(aBatch({ tenantId: asNew, events }));
        await store.record({ ...chunkOf([aBatch({ tenantId: asOld, events })]), redelivered: true });

        const old = await eventsOf(database, asOld);
        expect(old).toHaveLength(events.length);
        for (const tenantId of [asWritten, asNew]) {
          expect(await eventsOf(database, tenantId)).toEqual(old.map((row) => ({ ...row, tenant_id: tenantId })));
          expect(await stateOf(database, tenantId)).toMatchObject(rowsOf(ledgerOf(events)));
        }
      }),
      { numRuns: 30 },
    );
  });

  it('stores contents that look like the surrounding JSON', async () => {
    const tenantId = newTenant();
    const inner = { id: 'x', metadata: { n: 1 }, payload: { n: 2 } };
    const contents = [
      { list: [inner, inner], payload: { n: {} } },
      { list: [{ n: {} }, { id: 'x', n: { n: {} } }, { id: 'y' }] },
      { list: [{ n: {} }, inner, { id: 'x' }] },
    ];
    const events = contents.flatMap((payload, i) => [
      anEvent({ id: `a${i}`, payload }),
      anEvent({ id: `b${i}`, metadata: payload }),
    ]);

    expect(await store.record(writtenChunk(aBatch({ tenantId, events })))).toMatchObject({ stored: 6, duplicates: 0 });

    const stored = await eventsOf(database, tenantId);
    expect(stored.map(({ event_id, payload, metadata }) => ({ id: event_id, payload, metadata }))).toEqual(
      sorted(events, ({ id }) => id).map(({ id, payload, metadata }) => ({ id, payload, metadata })),
    );
  });

  it('stores an event that has members after its contents', async () => {
    const tenantId = newTenant();
    const { batches, eventCount } = writtenChunk(
      aBatch({ tenantId, events: [anEvent({ id: 'x', payload: { n: 7 } })] }),
    );

    await store.record({ batches: batches.map((body) => replaced(body, '}]}', ',"n":1}]}')), eventCount });

    expect(await eventsOf(database, tenantId)).toMatchObject([{ event_id: 'x', payload: { n: 7 } }]);
  });

  it('stores a number exactly as written if JavaScript cannot represent it', async () => {
    const tenantId = newTenant();
    const batchOf = (id: string) => aBatch({ tenantId, events: [anEvent({ id, payload: { n: 7 } })] });

    for (const { batches, eventCount } of [writtenChunk(batchOf('x')), chunkOf([batchOf('y')])]) {
      await store.record({ batches: batches.map((body) => replaced(body, '"n":7', '"n":1e400')), eventCount });
    }

    const huge = await database.pool.query(
      `select payload->'n' = '1e400'::jsonb as kept from events where tenant_id = $1`,
      [tenantId],
    );
    expect(huge.rows).toEqual([{ kept: true }, { kept: true }]);
  });

  it('continues after its row types were recreated', async () => {
    const events = [anEvent({ id: 'x' })];
    await record(aBatch({ tenantId: newTenant(), events }));
    const { rows } = await database.pool.query<{ definition: string }>(
      `select string_agg(format('%s %s', attname, format_type(atttypid, null)), ', ' order by attnum) as definition
      from pg_attribute where attrelid = 'day_row'::regclass`,
    );
    const owner = new pg.Client({ connectionString: fresh.url });
    await owner.connect();
    await owner.query(`drop type day_row; create type day_row as (${rows[0]?.definition})`);
    await owner.end();

    const tenantId = newTenant();
    await eventually(async () => {
      await record(aBatch({ tenantId, events })).catch((error) => expect(databaseFault(error)).toBe('away'));
      expect(await eventsOf(database, tenantId)).toHaveLength(1);
    });
  });

  it('moves a run to the day and agent of an event that turns out to be its first', async () => {
    const tenantId = newTenant();
    const late = anEvent({ id: '2', agentId: 'second', occurredAt: '2026-03-02T00:00:01.000Z' });
    const early = anEvent({ id: '1', agentId: 'first', occurredAt: '2026-03-01T23:59:59.000Z' });

    await record(aBatch({ tenantId, events: [late] }));
    await record(aBatch({ tenantId, events: [early] }));

    expect(await stateOf(database, tenantId)).toMatchObject(rowsOf(ledgerOf([late, early])));
  });
});

function replaced(body: Uint8Array, written: string, by: string): Uint8Array {
  return Buffer.from(Buffer.from(body).toString('utf8').replace(written, by));
}

/** A chunk as the gateway writes it. */
function writtenChunk(batch: EventBatch) {
  const { events } = batch;
  // Keeps the hashes of the event builder.
  const texts = events.map((event) => writeEvent(event).json.replace(/"hash":"[^"]*"/, `"hash":"${event.hash}"`));
  const body = batchBody(batch, texts, Buffer.byteLength(`${texts.join()},`));
  return { batches: [body], eventCount: events.length };
}

async function eventsOf({ db }: Database, tenantId: string) {
  return db.selectFrom('events').selectAll().where('tenant_id', '=', tenantId).orderBy('event_id').execute();
}

/** The stored state of a tenant, in the order of `rowsOf`. */
async function stateOf({ db }: Database, tenantId: string) {
  const runs = await db.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId).execute();
  const agents = await db.selectFrom('agents').selectAll().where('tenant_id', '=', tenantId).execute();
  const days = await db.selectFrom('agent_daily').selectAll().where('tenant_id', '=', tenantId).execute();
  const { rows: hours } = await sql`
    select agent_id, (bucket at time zone 'UTC')::date as day, sum(event_count)::int as event_count,
      sum(error_count)::int as error_count, sum(llm_call_count)::int as llm_call_count,
      sum(cost_usd)::float8 as cost_usd
    from activity where tenant_id = ${tenantId} and grain = 'hour' group by 1, 2 order by agent_id collate "C", 2`.execute(
    db,
  );
  return {
    hours,
    runs: sorted(runs, (run) => run.run_id),
    agents: sorted(agents, (agent) => agent.agent_id),
    // A run that moved leaves a day with zero counts behind.
    days: sorted(
      days.filter((day) => day.event_count + day.run_count > 0),
      (day) => `${day.agent_id}\n${day.day}`,
    ),
  };
}

function rowsOf(ledger: Ledger) {
  return {
    hours: sorted(
      [...ledger.days.values()]
        .filter(({ totals }) => totals.events > 0)
        .map((day) => ({
          agent_id: day.agentId,
          day: day.day,
          event_count: day.totals.events,
          error_count: day.totals.errors,
          llm_call_count: day.totals.llmCalls,
          cost_usd: usdOf(day.totals.picoUsd),
        })),
      (day) => `${day.agent_id}\n${day.day}`,
    ),
    runs: sorted(
      [...ledger.runs.values()].map((run) => ({
        run_id: run.runId,
        agent_id: run.agentId,
        agent_name: run.agentName?.value ?? null,
        session_id: run.sessionId ?? null,
        parent_run_id: run.parent?.value.runId ?? null,
        parent_tool_use_id: run.parent?.value.toolUseId ?? null,
        status: statusOf(run),
        model: run.model?.value.model ?? null,
        provider: run.model?.value.provider ?? null,
        started_at: run.startedAt,
        last_event_at: run.lastEventAt,
        ended_at: run.end?.value.at ?? null,
        event_count: run.totals.events,
        error_count: run.totals.errors,
        tool_call_count: run.totals.toolCalls,
        tool_error_count: run.totals.toolErrors,
        llm_call_count: run.totals.llmCalls,
        input_tokens: run.totals.inputTokens,
        output_tokens: run.totals.outputTokens,
        total_tokens: run.totals.totalTokens,
        cost_usd: usdOf(run.totals.picoUsd),
        unpriced_count: run.totals.unpriced,
        tags: run.tags,
        step_count: run.totals.steps,
        cache_read_tokens: run.totals.cacheReadTokens,
        cache_write_tokens: run.totals.cacheWriteTokens,
        actor: run.actor?.value ?? null,
        actor_id: run.actor?.value.externalId ?? null,
        run_tags: run.runTags,
        ttl_ms: run.ttlMs ?? null,
        heartbeat_every_ms: run.heartbeatEveryMs ?? null,
        result: run.result?.value ?? null,
        error_message: run.errorMessage?.value ?? null,
      })),
      (run) => run.run_id,
    ),
    agents: sorted(
      [...ledger.agents.values()].map((agent) => ({
        agent_id: agent.agentId,
        name: agent.name?.value ?? null,
        slug: agent.registration.slug ?? null,
        description: agent.registration.description?.value ?? null,
        tags: agent.registration.tags?.value ?? [],
        tools: [...agent.registration.tools.values()].map(({ value }) => value),
        first_seen_at: agent.firstSeenAt,
        last_seen_at: agent.lastSeenAt,
        run_count: agent.runs,
        event_count: agent.totals.events,
        error_count: agent.totals.errors,
        cost_usd: usdOf(agent.totals.picoUsd),
      })),
      (agent) => agent.agent_id,
    ),
    days: sorted(
      [...ledger.days.values()].map((day) => ({
        agent_id: day.agentId,
        day: day.day,
        event_count: day.totals.events,
        error_count: day.totals.errors,
        tool_call_count: day.totals.toolCalls,
        tool_error_count: day.totals.toolErrors,
        llm_call_count: day.totals.llmCalls,
        input_tokens: day.totals.inputTokens,
        output_tokens: day.totals.outputTokens,
        cost_usd: usdOf(day.totals.picoUsd),
        run_count: day.runs,
        run_error_count: day.failedRuns,
        run_succeeded_count: day.completedRuns,
        run_duration_ms: day.runDurationMs,
        run_cost_usd: usdOf(day.runPicoUsd),
      })),
      (day) => `${day.agent_id}\n${day.day}`,
    ),
  };
}

function sorted<T>(rows: readonly T[], key: (row: T) => string): T[] {
  return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
