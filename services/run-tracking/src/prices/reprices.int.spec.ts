import { type AgentEvent, agentEvents, type PriceBook } from '@agentlens/contracts';
import { type Database, migrate, openDatabase, repriceFromRow } from '@agentlens/database';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger, HealthRegistry } from '@agentlens/platform';
import { aBatch, anEvent, eventually, type FreshDatabase, fixedClock, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { ConsumingRunTracker } from '../consuming.testing.ts';
import { changesOf } from './repriced-calls.ts';
import { Reprices } from './reprices.repository.ts';

const NOW = '2026-03-05T12:00:00.000Z';
const NOON_MS = Date.parse('2026-03-01T12:00:00.000Z');
const RANGE = { from: '2026-02-20T00:00:00.000Z', to: '2026-03-10T00:00:00.000Z' };
const logger = createLogger({ name: 'run-tracking', level: 'silent' });

/** Prices by model, USD per token; other models have none. */
const bookOf = (rates: Readonly<Record<string, number>>): PriceBook => ({
  providerOf: () => undefined,
  quote: ({ model, usage: { inputTokens = 0, outputTokens = 0 } }) => {
    const rate = rates[model];
    return rate === undefined
      ? { unpriced: 'unknown_model', estimateUsd: 1 }
      : { costUsd: rate * (inputTokens + outputTokens), priceRef: `table@${rate}` };
  },
});

describe('a reprice', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let bus: EventBus;
  let tracker: ConsumingRunTracker;
  let reprices: Reprices;
  let tenants = 0;
  let ids = 0;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    bus = createMemoryBus();
    tracker = new ConsumingRunTracker({
      ...{ bus, database, clock: fixedClock(NOW), logger, health: new HealthRegistry(), retentionDays: 0 },
    });
    reprices = new Reprices(database, () => Date.parse(NOW));
    await tracker.start();
  });
  afterAll(async () => {
    await tracker.stop();
    await bus.close();
    await database.close();
    await fresh.drop();
  });

  async function store(tenantId: string, events: readonly Partial<AgentEvent>[]): Promise<void> {
    const made = events.map((event) => anEvent({ ...event, id: `event-${ids++}` }));
    await bus.publish(agentEvents, aBatch({ tenantId, id: `batch-${ids++}`, events: made }));
    await eventually(async () => {
      const { rows } = await sql<{ n: number }>`
        select count(*)::int as n from events where event_id = ${made.at(-1)?.id ?? ''}`.execute(database.db);
      expect(rows).toEqual([{ n: 1 }]);
    });
  }

  async function begin(tenantId: string, more: object = {}): Promise<string> {
    const begun = await reprices.begin({ tenantId, body: { ...RANGE, ...more } });
    if (!begun.ok) throw new Error(begun.problem.error);
    return begun.value.id;
  }

  async function job(tenantId: string, id: string) {
    const row = await database.db
      .selectFrom('reprices')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('reprice_id', '=', id)
      .executeTakeFirstOrThrow();
    return repriceFromRow(row);
  }

  async function finish(tenantId: string, id: string, prices: PriceBook): Promise<void> {
    while ((await job(tenantId, id)).state === 'running') {
      await reprices.page(tenantId, id, (calls) => changesOf(calls, prices));
    }
  }

  /** Totals of runs, agents and days, and the sums of the events that they should equal. */
  async function sums(tenantId: string) {
    const read = async (text: string) => (await sql.raw<Record<string, unknown>>(text).execute(database.db)).rows;
    const of = `where tenant_id = '${tenantId}'`;
    return {
      runs: await read(`select run_id, cost_usd::text as usd, unpriced_count as n from runs ${of} order by 1`),
      ofRuns: await read(`select run_id, sum(coalesce(cost_usd, 0))::numeric(24,12)::text as usd,
        count(*) filter (where cost_source = 'unpriced') as n from events ${of} group by 1 order by 1`),
      agents: await read(`select agent_id, cost_usd::text as usd from agents ${of} order by 1`),
      ofAgents: await read(`select agent_id, sum(coalesce(cost_usd, 0))::numeric(24,12)::text as usd
        from events ${of} group by 1 order by 1`),
      days: await read(`select agent_id, day::text, cost_usd::text as usd from agent_daily ${of}
        and event_count > 0 order by 1, 2`),
      ofDays: await read(`select agent_id, (occurred_at at time zone 'UTC')::date::text as day,
        sum(coalesce(cost_usd, 0))::numeric(24,12)::text as usd from events ${of} group by 1, 2 order by 1, 2`),
      runDays: await read(`select agent_id, day::text, run_cost_usd::text as usd from agent_daily ${of}
        and run_count > 0 order by 1, 2`),
      ofRunDays: await read(`select agent_id, (started_at at time zone 'UTC')::date::text as day,
        sum(cost_usd)::numeric(24,12)::text as usd from runs ${of} group by 1, 2 order by 1, 2`),
      hours: await read(`select agent_id, bucket::text as hour, cost_usd::text as usd from activity ${of}
        and grain = 'hour' order by 1, 2`),
      ofHours: await read(`select agent_id, date_trunc('hour', occurred_at, 'UTC')::text as hour,
        sum(coalesce(cost_usd, 0))::text as usd from events ${of} group by 1, 2 order by 1, 2`),
    };
  }

  const decimal = (rows: readonly Record<string, unknown>[]) => rows.map((row) => ({ ...row, usd: Number(row.usd) }));

  async function expectEqualSums(tenantId: string): Promise<void> {
    const found = await sums(tenantId);
    for (const [totals, events] of [
      ['runs', 'ofRuns'],
      ['agents', 'ofAgents'],
      ['days', 'ofDays'],
      ['runDays', 'ofRunDays'],
      ['hours', 'ofHours'],
    ] as const) {
      expect(decimal(found[totals])).toEqual(decimal(found[events]));
    }
  }

  const aCall = (fields: Partial<AgentEvent>): Partial<AgentEvent> => ({
    ...{ kind: 'llm.completed', occurredAt: '2026-03-01T12:00:00.000Z', model: 'new', provider: 'p' },
    usage: { inputTokens: 1_000, outputTokens: 500, costSource: 'unpriced', unpricedReason: 'unknown_model' },
    ...fields,
  });

  it('gives calls without a price the price of today, once', async () => {
    const tenantId = `tenant-${tenants++}`;
    await store(tenantId, [aCall({}), aCall({ runId: 'other' }), aCall({ model: 'still-unknown' })]);
    const prices = bookOf({ new: 0.001 });
    const first = await begin(tenantId, { onlyUnpriced: true });
    await finish(tenantId, first, prices);
    const expected = { state: 'finished', progress: 1, calls: 3, changed: 2, deltaUsd: 3 };
    expect(await job(tenantId, first)).toMatchObject(expected);
    expect((await job(tenantId, first)).byModel).toMatchObject([
      { model: 'new', calls: 2, changed: 2, oldUsd: 0, newUsd: 3, unpriced: 0 },
      { model: 'still-unknown', calls: 1, changed: 0, unpriced: 1 },
    ]);
    await expectEqualSums(tenantId);
    const again = await begin(tenantId);
    await finish(tenantId, again, prices);
    expect(await job(tenantId, again)).toMatchObject({ calls: 3, changed: 0, deltaUsd: 0 });
  });

  it('changes nothing in a dry run, keeps reported costs, and runs once per tenant', async () => {
    const tenantId = `tenant-${tenants++}`;
    const usage = { inputTokens: 1_000, outputTokens: 500, costUsd: 7, costSource: 'reported' } as const;
    await store(tenantId, [aCall({}), aCall({ usage })]);
    const before = await sums(tenantId);
    const dry = await begin(tenantId, { dryRun: true });
    expect(await reprices.begin({ tenantId, body: RANGE })).toMatchObject({ ok: false, problem: { status: 409 } });
    await finish(tenantId, dry, bookOf({ new: 0.001 }));
    expect(await job(tenantId, dry)).toMatchObject({ changed: 1, deltaUsd: 1.5 });
    expect(await sums(tenantId)).toEqual(before);
    const real = await begin(tenantId);
    await finish(tenantId, real, bookOf({ new: 0.001 }));
    const { rows } = await sql<object>`
      select cost_usd::float8 as usd, cost_source as source, (pricing->>'computedCostUsd')::float8 as computed
      from events where tenant_id = ${tenantId} order by 1`.execute(database.db);
    expect(rows).toEqual([
      { usd: 1.5, source: 'priced', computed: 1.5 },
      { usd: 7, source: 'reported', computed: 1.5 },
    ]);
  });

  it('reads the cached tokens of events from before prices were explained', async () => {
    const tenantId = `tenant-${tenants++}`;
    const payload = { usage: { inputTokens: 10, outputTokens: 0, cacheReadTokens: 90 } };
    await store(tenantId, [aCall({ payload, usage: { inputTokens: 10, outputTokens: 0, costSource: 'unpriced' } })]);
    await sql`update events set pricing = null where tenant_id = ${tenantId}`.execute(database.db);
    const id = await begin(tenantId);
    await finish(tenantId, id, bookOf({ new: 0.01 }));
    expect(await job(tenantId, id)).toMatchObject({ changed: 1, deltaUsd: 1 });
  });

  it.each([
    [{ ...RANGE, to: RANGE.from }, 'to'],
    [{ ...RANGE, from: '2020-01-01T00:00:00.000Z' }, 'from'],
    [{ ...RANGE, from: 'yesterday' }, 'from'],
    [{ ...RANGE, models: [] }, 'models'],
    [{ ...RANGE, model: 'gpt-4o' }, ''],
  ])('is rejected with %j', async (body, path) => {
    const answer = await reprices.begin({ tenantId: 'acme', body });
    expect(answer).toMatchObject({ ok: false, problem: { status: 400, details: [{ path }] } });
  });

  it('keeps sums of events, runs, agents and days equal after any sequence of store, reprice and crash', async () => {
    const anyCall = fc.record({
      ...{ runId: fc.constantFrom('r1', 'r2'), agentId: fc.constantFrom('a', 'b') },
      ...{ model: fc.constantFrom('one', 'two', 'none'), at: fc.integer({ min: -200_000_000, max: 200_000_000 }) },
      ...{ tokens: fc.nat({ max: 5_000 }), reported: fc.option(fc.constantFrom(0.1, 3), { nil: undefined }) },
    });
    const anyStep = fc.oneof(
      fc.array(anyCall, { minLength: 1, maxLength: 8 }).map((calls) => ({ do: 'store' as const, calls })),
      fc.record({
        do: fc.constant('reprice' as const),
        rates: fc.record({ one: fc.constantFrom(0.001, 0.002), two: fc.constantFrom(1e-7, 3e-7) }),
        crashes: fc.boolean(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 2, maxLength: 6 }), async (steps) => {
        const tenantId = `tenant-${tenants++}`;
        for (const step of steps) {
          if (step.do === 'store') {
            await store(
              tenantId,
              step.calls.map(({ runId, agentId, model, at, tokens, reported }) => ({
                ...{ runId, agentId, model, provider: 'p', kind: 'llm.completed' as const },
                occurredAt: new Date(NOON_MS + at).toISOString(),
                usage: {
                  ...{ inputTokens: tokens, outputTokens: 1 },
                  ...(reported === undefined
                    ? { costSource: 'unpriced' as const }
                    : { costSource: 'reported' as const, costUsd: reported }),
                },
              })),
            );
          } else {
            const id = await begin(tenantId);
            if (step.crashes) {
              const crash = reprices.page(tenantId, id, () => {
                throw new Error('crash');
              });
              await expect(crash).rejects.toThrow('crash');
            }
            await finish(tenantId, id, bookOf(step.rates));
          }
          await expectEqualSums(tenantId);
        }
      }),
      { numRuns: 25 },
    );
  });
});
