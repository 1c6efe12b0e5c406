import { GuardrailRule } from '@agentlens/contracts';
import { type FreshDatabase, freshDatabase, insertRecordedRows } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from './database.ts';
import { migrate, migrateUpTo } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { budgetFromRow, ruleFromRow } from './rows.ts';

/** Data written by release 0.1.0: two rules, a budget, two keys, a run with a failed tool call. */
const RECORDED = new URL('./recordings/release-0.1.0.json', import.meta.url);
const LAST_OF_RELEASE = '0010-room-in-runs';

describe('database of release 0.1.0', () => {
  let fresh: FreshDatabase;
  let database: Database;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate: (url) => migrateUpTo(url, LAST_OF_RELEASE) });
    database = openDatabase({ url: fresh.url, role: 'query' });
    await insertRecordedRows(fresh.url, RECORDED);
    await migrate(fresh.url);
  });
  afterAll(async () => {
    await database?.close();
    await fresh?.drop();
  });

  it('keeps its rules and their meaning', async () => {
    const rows = await database.db.selectFrom('guardrail_rules').selectAll().orderBy('name').execute();
    const rules = rows.map((row) => GuardrailRule.parse(ruleFromRow(row)));
    expect(rules).toMatchObject([
      { name: 'Failing half', conditionConfig: { threshold: 50, windowMinutes: 5, minEvents: 1, of: 'events' } },
      { name: 'No deletes', actionType: 'block', conditionConfig: { operator: 'eq', value: 'delete_all' } },
    ]);
  });

  it('keeps budgets with their spending, keys, runs and events', async () => {
    const { db } = database;
    const budgets = (await db.selectFrom('budgets').selectAll().execute()).map(budgetFromRow);
    expect(budgets).toMatchObject([{ name: 'Team', limitUsd: 5, period: 'total' }]);
    expect(await db.selectFrom('api_keys').select(['name', 'scopes']).orderBy('created_at').execute()).toMatchObject([
      { scopes: ['admin'] },
      { name: 'agent', scopes: ['ingest', 'decide'] },
    ]);
    expect(await db.selectFrom('runs').selectAll().execute()).toMatchObject([
      { run_id: 'old-run', status: 'succeeded', cost_usd: 1.5, killed_at: null, event_count: 4 },
    ]);
    const events = await db.selectFrom('events').select('kind').orderBy('occurred_at').execute();
    expect(events.map(({ kind }) => kind)).toEqual(['run.started', 'llm.completed', 'tool.completed', 'run.ended']);
  });
});
