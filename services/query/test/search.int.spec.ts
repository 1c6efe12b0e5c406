import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anAgentRow, anEventRow, aRuleRow, aRunRow, aTriggerRow } from './rows.ts';

/** UUIDs of version 7, made at NOW. */
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

  it('says what has an id', async () => {
    expect(await hits('same')).toMatchObject([{ kind: 'run', id: 'same', agentId: 'same' }, { kind: 'agent' }]);
    expect(await hits('billing')).toMatchObject([{ kind: 'agent', id: 'same' }]);
    expect(await hits('talk')).toMatchObject([{ kind: 'conversation', id: 'talk', runId: 'same' }]);
    expect(await hits(atNow('1'))).toMatchObject([{ kind: 'rule', name: 'Rule' }]);
    expect(await hits(atNow('2'))).toMatchObject([{ kind: 'trigger', runId: 'same' }]);
    expect(await hits(atNow('3'))).toMatchObject([{ kind: 'event', runId: 'same', at: NOW }]);
  });

  it('knows nothing of other tenants, and nothing of what is not there', async () => {
    expect(await hits('theirs')).toEqual([]);
    expect(await hits('nothing')).toEqual([]);
    expect((await api.get('/api/search')).status).toBe(400);
  });
});
