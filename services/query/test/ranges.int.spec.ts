import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDecisionRow, anAlertRow, anAuditRow, anEventRow, aRunRow, aTriggerRow } from './rows.ts';

const HOURS_AGO = (hours: number) => new Date(Date.parse(NOW) - hours * 3_600_000).toISOString();

let api: OperatorApi;
beforeAll(async () => {
  api = await startOperatorApi();
  for (const [n, at] of [HOURS_AGO(0.5), HOURS_AGO(30)].entries()) {
    await api.insert('runs', aRunRow({ run_id: `r-${n}`, started_at: at }));
    await api.insert('events', anEventRow({ event_id: `e-${n}`, run_id: `r-${n}`, occurred_at: at }));
    await api.insert('decisions', aDecisionRow({ decision_id: `d-${n}`, decided_at: at }));
    await api.insert('guardrail_triggers', aTriggerRow({ trigger_id: `t-${n}`, triggered_at: at }));
    await api.insert('alerts', anAlertRow({ alert_id: `a-${n}`, binding: `b-${n}`, created_at: at }));
    await api.insert('audit_entries', anAuditRow({ entry_id: `c-${n}`, at }));
  }
});
afterAll(() => api.close());

describe.each([
  ['/api/runs', 'runs'],
  ['/api/sessions', 'sessions'],
  ['/api/events', 'events'],
  ['/api/decisions', 'decisions'],
  ['/api/guardrails/history', 'triggers'],
  ['/api/alerts', 'alerts'],
  ['/api/audit', 'entries'],
])('the range of %s', (path, list) => {
  /** Keeps the ids inserted above, because the audit log has other entries too. */
  const idsIn = async (query: string) => {
    const ids: string[] = (await api.get(`${path}?${query}`)).body[list].map(({ id }: { id: string }) => id);
    return ids.filter((id) => /^[a-z]-\d$/.test(id)).map((id) => id.slice(-1));
  };

  it('can be given as a length, with one end or up to now', async () => {
    expect(await idsIn('range=1h')).toEqual(['0']);
    expect(await idsIn('range=2d')).toEqual(['0', '1']);
    expect(await idsIn(`range=6h&to=${HOURS_AGO(28)}`)).toEqual(['1']);
    expect(await idsIn(`range=6h&from=${HOURS_AGO(31)}`)).toEqual(['1']);
    const { status, body } = await api.get(`${path}?range=1h&from=${HOURS_AGO(3)}&to=${NOW}`);
    expect([status, body.details[0].path]).toEqual([400, 'range']);
  });
});

it('counts the runs of a range', async () => {
  expect((await api.get('/api/runs/facets?range=1h')).body.total).toBe(1);
  expect((await api.get('/api/runs/facets?range=2d')).body.total).toBe(2);
});
