import type { SearchHit } from '@agentlens/operations';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { idPrefix } from '../src/search/search.controller.ts';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import {
  aBudgetRow,
  aDecisionRow,
  aDeliveryRow,
  anAgentRow,
  anAlertRow,
  anEventRow,
  aRuleRow,
  aRunRow,
  aTriggerRow,
} from './rows.ts';

const LATER = '2026-03-01T13:00:00.000Z';
const byText = (a: unknown, b: unknown) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

/** Version 7 UUIDs created at NOW. */
const atNow = (end: string) => {
  const hex = Date.parse(NOW).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${end.padStart(12, '0')}`;
};

describe('GET /api/search', () => {
  let api: OperatorApi;
  beforeAll(async () => {
    api = await startOperatorApi();
    await api.insert('agents', anAgentRow({ agent_id: 'same', slug: 'billing' }));
    await api.insert('runs', aRunRow({ run_id: 'same', agent_id: 'same', session_id: 'talk' }));
    await api.insert('guardrail_rules', aRuleRow({ rule_id: atNow('1'), name: 'Rule' }));
    await api.insert('guardrail_triggers', aTriggerRow({ trigger_id: atNow('2'), run_id: 'same' }));
    await api.insert('events', anEventRow({ event_id: atNow('3'), run_id: 'same', occurred_at: NOW }));
    await api.insert('runs', aRunRow({ tenant_id: 'globex', run_id: 'theirs' }));
  });
  afterAll(() => api.close());

  const hits = async (id: string) => (await api.get(`/api/search?id=${encodeURIComponent(id)}`)).body.hits;

  it('finds the item with an id', async () => {
    expect(await hits('same')).toMatchObject([{ kind: 'run', id: 'same', agentId: 'same' }, { kind: 'agent' }]);
    expect(await hits('billing')).toMatchObject([{ kind: 'agent', id: 'same' }]);
    expect(await hits('talk')).toMatchObject([{ kind: 'conversation', id: 'talk', runId: 'same' }]);
    expect(await hits(atNow('1'))).toMatchObject([{ kind: 'rule', name: 'Rule' }]);
    expect(await hits(atNow('2'))).toMatchObject([{ kind: 'trigger', runId: 'same' }]);
    expect(await hits(atNow('3'))).toMatchObject([{ kind: 'event', runId: 'same', at: NOW }]);
  });

  it('finds ids by a prefix of 6 characters or more, after exact matches', async () => {
    for (const id of ['import-1', 'import-10', 'import-2', 'imp_ort', 'IMPORT-1']) {
      await api.insert('runs', aRunRow({ run_id: id, session_id: `talk-of-${id}` }));
    }
    await api.insert('runs', aRunRow({ run_id: 'newer', session_id: 'talk-of-import-2', started_at: LATER }));
    await api.insert('runs', aRunRow({ tenant_id: 'globex', run_id: 'import-3', session_id: 'talk-of-theirs' }));
    await api.insert('agents', anAgentRow({ agent_id: 'importer', slug: 'import-slug' }));
    const found = async (id: string) =>
      (await hits(id)).map((hit: SearchHit) => [hit.kind, hit.id, hit.whole]).sort(byText);
    expect(await found('import-1')).toEqual([
      ['run', 'import-1', true],
      ['run', 'import-10', false],
    ]);
    expect(await found('import')).toEqual([
      ['agent', 'importer', false],
      ...['import-1', 'import-10', 'import-2'].map((id) => ['run', id, false]),
    ]);
    expect(await found('impor')).toEqual([]);
    expect(await found('impor%')).toEqual([]);
    expect(await found('talk-of-import-2')).toEqual([['conversation', 'talk-of-import-2', true]]);
    const [talk] = (await hits('talk-of-import-')).filter(({ id }: SearchHit) => id === 'talk-of-import-2');
    expect(talk).toMatchObject({ kind: 'conversation', runId: 'newer', whole: false });
    expect(await found('talk-of-theirs')).toEqual([]);
  });

  it('finds generated ids by their first digits', async () => {
    await api.insert('decisions', aDecisionRow({ decision_id: atNow('d1') }));
    await api.insert('alerts', anAlertRow({ alert_id: atNow('a1') }));
    await api.insert('deliveries', aDeliveryRow({ delivery_id: atNow('e1') }));
    await api.insert('budgets', aBudgetRow({ budget_id: atNow('b1') }));
    await api.insert('decisions', aDecisionRow({ tenant_id: 'globex', decision_id: atNow('f2') }));
    const kinds = async (id: string) => (await hits(id)).map(({ kind }: SearchHit) => kind).sort(byText);
    const all = ['alert', 'budget', 'decision', 'delivery', 'rule', 'trigger'];
    expect(await kinds(atNow('').slice(0, 6))).toEqual(all);
    expect(await kinds(atNow('').slice(0, 20))).toEqual(all);
    expect(await kinds(atNow('d1').slice(0, 35))).toEqual(['decision']);
    expect(await kinds(atNow('f2').slice(0, 35))).toEqual([]);
    // Events are found only by their whole id.
    expect(await kinds(atNow('3').slice(0, 35))).not.toContain('event');
  });

  it('reports that there are more matches than it returns', async () => {
    for (let i = 0; i < 21; i++) await api.insert('runs', aRunRow({ run_id: `crowd-${i}`, session_id: `crowd-${i}` }));
    const { body } = await api.get('/api/search?id=crowd-');
    const ofKind = (wanted: string) => body.hits.filter(({ kind }: SearchHit) => kind === wanted);
    expect([ofKind('run').length, ofKind('conversation').length, body.truncated]).toEqual([10, 10, false]);
    await api.insert('agents', anAgentRow({ agent_id: 'crowd-agent' }));
    const more = await api.get('/api/search?id=crowd-');
    expect([more.body.hits.length, more.body.truncated]).toEqual([20, true]);
  });

  it('reads prefixes with indexes, as the role of a tenant', async () => {
    // Enough rows that the planner prefers an index.
    const { platform } = api;
    await sql`insert into runs
      select (jsonb_populate_record(r, jsonb_build_object('run_id', 'many-' || n, 'session_id', 'talks-' || n))).*
      from runs r, generate_series(1, 5000) n where tenant_id = 'acme' and run_id = 'same'`.execute(
      platform.database('run-tracking').db,
    );
    await sql`insert into decisions
      select (jsonb_populate_record(d, jsonb_build_object('decision_id', gen_random_uuid()))).*
      from decisions d, generate_series(1, 5000) n where tenant_id = 'acme'`.execute(
      platform.database('run-tracking').db,
    );
    await sql`insert into deliveries
      select (jsonb_populate_record(d, jsonb_build_object('delivery_id', gen_random_uuid()))).*
      from deliveries d, generate_series(1, 5000) n where tenant_id = 'acme'`.execute(
      platform.database('action-dispatcher').db,
    );
    const plan = await api.platform.database('query').asTenant('acme', async (db) => {
      await sql`set local enable_seqscan = off`.execute(db);
      await sql`set local enable_bitmapscan = off`.execute(db);
      const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${idPrefix('acme', '019cab')}`.execute(db);
      return rows.map((row) => row['QUERY PLAN'].trim());
    });
    const conditions = plan.filter((line) => line.startsWith('Index Cond')).join('\n');
    for (const column of ['run_id', 'session_id']) {
      expect(conditions).toMatch(new RegExp(`${column} ~>=~ .*${column} ~<~ `));
    }
    for (const column of ['decision_id', 'alert_id', 'delivery_id', 'triggered_at']) {
      expect(conditions).toMatch(new RegExp(`${column} >= .*${column} <= `));
    }
    expect(plan.filter((line) => line.includes('Seq Scan'))).toEqual([]);
  });

  it('finds nothing of other tenants and nothing that does not exist', async () => {
    expect(await hits('theirs')).toEqual([]);
    expect(await hits('nothing')).toEqual([]);
    expect((await api.get('/api/search')).status).toBe(400);
  });
});
