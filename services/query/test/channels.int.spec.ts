import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anAlertRow } from './rows.ts';

describe('stored routes and silences that this release cannot read', () => {
  let api: OperatorApi;
  beforeAll(async () => {
    api = await startOperatorApi();
    await api.insert('channels', {
      ...{ tenant_id: 'acme', channel_id: 'ops', kind: 'webhook', name: 'Ops', config: {}, target: 'x' },
      ...{ enabled: true, version: 1, created_at: NOW, updated_at: NOW },
    });
    await api.insert('silences', {
      ...{ tenant_id: 'acme', silence_id: 'broken', matchers: JSON.stringify(['region=eu']), comment: 'x' },
      ...{ starts_at: NOW, ends_at: '2036-03-01T00:00:00Z', created_by: 'x', created_at: NOW },
    });
    await api.insert('alerts', anAlertRow({ alert_id: 'alert-1', kind: 'rule', created_at: NOW }));
  });
  afterAll(() => api.close());

  const store = (version: number, body: object) =>
    api.insert('routing_documents', {
      ...{ tenant_id: 'acme', version, body: JSON.stringify(body), saved_by: 'x', saved_at: NOW },
    });
  const explain = async () => {
    const { status, body } = await api.call('POST', '/api/routes/explain', { body: { labels: { kind: 'rule' } } });
    expect(status).toBe(200);
    return body.channels;
  };

  it('say so, and are explained as the dispatcher uses them', async () => {
    await store(1, {
      routes: [
        { id: 'all', channels: ['ops'] },
        { id: 'eu', under: 'all', match: ['kind=rule', 'region=eu'], channels: [] },
      ],
    });
    expect((await api.get('/api/routes')).body).toMatchObject({
      ...{ version: 1, document: { routes: [{ id: 'all' }, { id: 'eu' }] } },
      problems: [{ path: 'routes[1].match', message: expect.stringContaining('names no label') }],
    });
    const silenced = { silences: [{ id: 'broken', problem: expect.stringContaining('It silences nothing') }] };
    expect((await api.get('/api/silences')).body).toMatchObject(silenced);
    expect(await explain()).toMatchObject([{ channel: 'ops', notified: true, route: 'all' }]);
  });

  it('lead to the default channels if nothing of the document can be read', async () => {
    await store(2, { routes: 'of another release' });
    expect((await api.get('/api/routes')).body).toMatchObject({
      ...{ version: 2, document: null },
      problems: [{ path: 'routes', message: expect.any(String) }],
    });
    expect(await explain()).toMatchObject([{ channel: 'ops', notified: true, route: 'default' }]);
    expect((await api.get('/api/alerts/alert-1/notices')).body).toMatchObject({
      channels: [{ channel: 'ops', notified: true }],
    });
  });
});
