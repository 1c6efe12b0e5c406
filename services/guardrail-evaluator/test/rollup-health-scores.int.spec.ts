import { type Database, migrate, openDatabase } from '@agentlens/database';
import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RollupHealthScores } from '../src/health/health-ticker.ts';

const NOW = Date.parse('2026-03-10T12:00:00.000Z');

const A_DAY = {
  tenant_id: 'acme',
  event_count: 0,
  error_count: 0,
  tool_call_count: 0,
  tool_error_count: 0,
  llm_call_count: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  run_count: 10,
  run_error_count: 0,
  run_succeeded_count: 10,
  run_duration_ms: 1_000,
  run_cost_usd: 1,
};

let fresh: FreshDatabase;
let database: Database;
let scores: RollupHealthScores;

beforeAll(async () => {
  fresh = await freshDatabase({ migrate });
  const writer = openDatabase({ url: fresh.url, role: 'run-tracking' });
  const day = (agent_id: string, date: string, fields: object = {}) => ({ ...A_DAY, agent_id, day: date, ...fields });
  await writer.db
    .insertInto('agent_daily')
    .values([
      day('well', '2026-03-09'),
      day('well', '2026-03-10'),
      day('failing', '2026-03-10', { run_error_count: 10, run_succeeded_count: 0 }),
      day('dear', '2026-03-10', { run_cost_usd: 2 }),
      day('dear', '2026-02-20'),
      day('gone', '2026-02-20'),
      day('failing', '2026-03-10', { tenant_id: 'other' }),
    ])
    .execute();
  await writer.close();
  database = openDatabase({ url: fresh.url, role: 'guardrail-evaluator' });
  scores = new RollupHealthScores(database);
});

afterAll(async () => {
  await database.close();
  await fresh.drop();
});

describe('health scores from rollups', () => {
  it('compare the window with the days before it, and leave out agents without data', async () => {
    expect(Object.fromEntries(await scores.of('acme', 7, NOW))).toEqual({ dear: 80, failing: 55, well: 100 });
  });

  it('cover one tenant', async () => {
    expect([...(await scores.of('other', 7, NOW))]).toEqual([['failing', 100]]);
    expect([...(await scores.of('nobody', 7, NOW))]).toEqual([]);
  });
});
