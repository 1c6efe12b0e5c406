import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;
beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

const FAILED = { page: 'runs', name: 'Failed today', query: '?status=failed&range=24h' };

const set = (body: object, key?: string) => {
  api.clock.advance(1);
  return api.call('PUT', '/api/saved-views', { body, ...(key === undefined ? {} : { key }) });
};
const remove = (id: string) => {
  api.clock.advance(1);
  return api.call('DELETE', `/api/saved-views/${id}`);
};

describe('saved views', () => {
  it('are shared by the keys of a tenant, replaced by name and deleted, with an audit entry each', async () => {
    const made = await set(FAILED);
    expect(made).toMatchObject({ status: 200, body: { ...FAILED, updatedBy: 'admin' } });
    const replaced = await set({ ...FAILED, query: '?status=lost' });
    expect(replaced.body.id).toBe(made.body.id);
    await set({ ...FAILED, page: 'alerts' });
    const ofRuns = await api.get('/api/saved-views?page=runs', api.keys.reader.key);
    expect(ofRuns.body.views).toEqual([{ ...FAILED, ...replaced.body }]);
    expect((await api.get('/api/saved-views')).body.views).toHaveLength(2);
    expect(await remove(made.body.id)).toMatchObject({ status: 200 });
    expect(await remove(made.body.id)).toMatchObject({ status: 404 });
    const { body } = await api.get('/api/audit?target=saved_view');
    expect(body.entries.map(({ kind }: { kind: string }) => kind)).toEqual([
      'saved_view.deleted',
      'saved_view.set',
      'saved_view.set',
      'saved_view.set',
    ]);
    expect(body.entries[2]).toMatchObject({ before: { query: FAILED.query }, after: { query: '?status=lost' } });
  });

  it.each([
    [{ ...FAILED, name: ' ' }, 'name', 'must not be empty'],
    [{ ...FAILED, name: 'x'.repeat(81) }, 'name', 'at most 80'],
    [{ ...FAILED, page: 'spend' }, 'page', 'must be one of runs, decisions, alerts'],
    [{ ...FAILED, query: 'status=failed' }, 'query', 'such as ?status=failed'],
    [{ ...FAILED, query: `?q=${'x'.repeat(2000)}` }, 'query', 'at most 2000'],
  ])('rejects %j and names the field', async (body, path, message) => {
    expect(await set(body)).toMatchObject({
      status: 400,
      body: { details: [{ path, message: expect.stringContaining(message) }] },
    });
  });

  it('need the scope review to be changed', async () => {
    expect(await set(FAILED, api.keys.reader.key)).toMatchObject({ status: 403 });
  });

  it('are at most 100, and replacing one still works', async () => {
    const { body } = await api.get('/api/saved-views');
    for (let n = body.views.length; n < 100; n++) await set({ ...FAILED, name: `View ${n}` });
    expect(await set({ ...FAILED, name: 'One more' })).toMatchObject({
      status: 409,
      body: { error: 'A tenant has at most 100 saved views', hint: expect.stringContaining('Delete') },
    });
    expect(await set({ ...FAILED, name: 'View 99' })).toMatchObject({ status: 200 });
  });
});
