import type { DatabaseRole } from '@agentlens/database';
import { MAX_COUNTED_ROWS } from '@agentlens/operations';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anEventRow, aRuleRow, aRunRow, aTriggerRow } from './rows.ts';

let api: OperatorApi;

beforeAll(async () => {
  api = await startOperatorApi();
  await api.insert('guardrail_rules', aRuleRow({ rule_id: 'rule-1' }));
  await many(
    'action-dispatcher',
    'guardrail_triggers',
    'trigger_id',
    aTriggerRow({ rule_id: 'rule-1' }),
    MAX_COUNTED_ROWS,
  );
  await many('run-tracking', 'events', 'event_id', anEventRow(), MAX_COUNTED_ROWS + 1);
  await many('run-tracking', 'runs', 'run_id', aRunRow(), MAX_COUNTED_ROWS + 1);
});
afterAll(() => api.close());

/** Inserts the same row under several ids. */
async function many(
  writer: DatabaseRole,
  table: string,
  id: string,
  row: Record<string, unknown>,
  count: number,
): Promise<void> {
  await api.insert(table, { ...row, [id]: 'first' });
  const columns = sql.join(
    Object.keys(row)
      .filter((column) => column !== id)
      .map((column) => sql.ref(column)),
  );
  await sql`insert into ${sql.table(table)} (${columns}, ${sql.ref(id)})
    select ${columns}, 'more-' || i from ${sql.table(table)}, generate_series(2, ${count}::int) i
    where ${sql.ref(id)} = 'first'`.execute(api.platform.database(writer).db);
}

describe('the total of a list', () => {
  it('is exact up to a cap', async () => {
    const { body } = await api.get('/api/guardrails/history?limit=1');

    expect(body).toMatchObject({ total: MAX_COUNTED_ROWS, totalRelation: 'eq', hasMore: true });
  });

  it.each(['/api/events', '/api/sessions'])('is reported as above the cap by GET %s', async (path) => {
    const { body } = await api.get(`${path}?limit=1`);

    expect(body).toMatchObject({ total: MAX_COUNTED_ROWS, totalRelation: 'gte', hasMore: true });
  });

  it('is exact for the matches of a filter', async () => {
    const { body } = await api.get(`/api/events?limit=1&from=${NOW}&agentId=nobody`);

    expect(body).toMatchObject({ total: 0, totalRelation: 'eq', hasMore: false });
  });
});
