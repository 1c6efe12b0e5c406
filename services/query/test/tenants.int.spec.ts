import { QUERY_OPERATIONS, scopesOf } from '@agentlens/operations';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;
let key: string;
beforeAll(async () => {
  api = await startOperatorApi();
  key = api.keys.platform.key;
});
afterAll(() => api.close());

const make = (body: object, by = key) => api.call('POST', '/api/tenants', { key: by, body });

describe('tenants', () => {
  it('are created with their own admin key, which sees nothing of other tenants', async () => {
    const made = await make({ id: 'initech', name: 'Initech' });
    expect(made).toMatchObject({
      status: 201,
      body: { id: 'initech', name: 'Initech', createdAt: expect.any(String), adminKey: { id: expect.any(String) } },
    });
    const own = made.body.adminKey.key;
    expect((await api.get('/api/keys', own)).body.keys).toMatchObject([{ tenantId: 'initech', scopes: ['admin'] }]);
    expect((await api.get('/api/settings', own)).status).toBe(200);
  });

  it('are listed in pages, without the pseudo-tenant of platform keys', async () => {
    await make({ id: 'hooli' });
    const first = await api.get('/api/tenants?limit=2', key);
    expect(first.body).toMatchObject({ hasMore: true, nextCursor: expect.any(String) });
    const rest = await api.get(`/api/tenants?limit=50&cursor=${first.body.nextCursor}`, key);
    const ids = [...first.body.tenants, ...rest.body.tenants].map(({ id }) => id);
    expect(new Set(ids)).toEqual(new Set(['acme', 'globex', 'hooli', 'initech']));
    expect(ids).toHaveLength(4);
  });

  it('have ids that are unique, not reserved and valid in subjects', async () => {
    expect(await make({ id: 'acme' })).toMatchObject({ status: 409, body: { code: 'conflict' } });
    for (const id of ['platform', 'Acme', '', 'a.b']) {
      expect(await make({ id })).toMatchObject({ status: 400, body: { details: [{ path: 'id' }] } });
    }
  });

  it('require platform keys, which are valid for nothing else', async () => {
    expect((await make({ id: 'mine' }, api.keys.admin.key)).status).toBe(403);
    expect((await api.get('/api/tenants', api.keys.admin.key)).status).toBe(403);
    const scopes = ['platform'];
    expect((await api.call('POST', '/api/keys', { body: { scopes } })).status).toBe(400);
    const others = QUERY_OPERATIONS.filter((op) => op.scope !== null && !scopesOf(op).includes('platform'));
    for (const { method, path } of others) {
      const url = path.replaceAll(/:\w+/g, 'x');
      const { status } = await api.call(method.toUpperCase() as 'GET', url, { key });
      expect({ method, path, status }).toEqual({ method, path, status: 403 });
    }
  });

  it('hide platform keys from every admin, and keep the last one from being revoked', async () => {
    const { body } = await api.get('/api/keys', key);
    const [only] = body.keys;
    expect(body.keys).toMatchObject([{ scopes: ['platform'] }]);
    expect((await api.call('POST', `/api/keys/${only.id}/rotate`)).status).toBe(404);
    expect((await api.call('DELETE', `/api/keys/${only.id}`, { key })).status).toBe(409);
    const rotated = await api.call('POST', `/api/keys/${only.id}/rotate`, { key });
    expect(rotated).toMatchObject({ status: 201, body: { scopes: ['platform'] } });
    expect((await api.get('/api/tenants', rotated.body.key)).status).toBe(200);
    expect((await api.call('DELETE', `/api/keys/${only.id}`, { key: rotated.body.key })).status).toBe(200);
    expect((await api.get('/api/tenants', key)).status).toBe(401);
  });
});

describe('the settings of a tenant', () => {
  it('change one by one with PATCH, and PUT keeps settings that were added later', async () => {
    const usual = {
      ...{ decisionFailMode: 'allow', decisionPath: 'gateway', defaultBreaker: 'on', decisionArguments: 'redacted' },
      ...{ deniedCalls: 'deny', contentRetentionDays: null, version: 1 },
    };
    expect((await api.get('/api/settings', api.keys.foreign.key)).body).toEqual(usual);
    const change = (method: 'PUT' | 'PATCH', body: object) =>
      api.call(method, '/api/settings', { key: api.keys.foreign.key, body });
    expect(await change('PATCH', { defaultBreaker: 'off' })).toMatchObject({
      status: 200,
      body: { ...usual, defaultBreaker: 'off', version: 2 },
    });
    expect((await change('PUT', { decisionFailMode: 'block' })).body).toEqual({
      ...{ ...usual, decisionFailMode: 'block', defaultBreaker: 'off', version: 3 },
    });
    expect((await change('PATCH', { contentRetentionDays: 30 })).body).toMatchObject({ contentRetentionDays: 30 });
    expect((await change('PATCH', { contentRetentionDays: null })).body).toMatchObject({ contentRetentionDays: null });
    expect((await change('PATCH', { contentRetentionDays: 0 })).status).toBe(400);
    expect((await change('PATCH', { decisionArguments: 'all' })).status).toBe(400);
    expect((await change('PATCH', { decisionArgument: 'none' })).status).toBe(400);
    expect((await api.get('/api/settings')).body).toEqual(usual);
  });

  it('change only at the version that is named', async () => {
    const { headers, body: before } = await api.get('/api/settings');
    const patch = (etag: string) =>
      api.call('PATCH', '/api/settings', { body: { defaultBreaker: 'on' }, headers: { 'if-match': etag } });
    const changed = await patch(String(headers.etag));
    expect(changed).toMatchObject({ status: 200, body: { version: before.version + 1 } });
    expect(await patch(String(headers.etag))).toMatchObject({
      status: 412,
      body: { code: 'version_conflict', currentVersion: before.version + 1 },
      headers: { etag: changed.headers.etag },
    });
  });
});

const TREES = '/api/trees/limits';
const NONE = { maxDepth: null, maxChildren: null, maxRuns: null };
/** Advances the clock first, so that each change is newer than the previous one. */
const set = (limits: object, options: Parameters<OperatorApi['call']>[2] = {}) => {
  api.clock.advance(1_000);
  return api.call('PUT', TREES, { body: { scope: 'tenant', limits }, ...options });
};

describe('limits of run trees', () => {
  it('start without any, are set as a whole, and belong to one tenant', async () => {
    expect((await api.get(TREES)).body).toEqual({ scope: 'tenant', limits: NONE, version: 0 });
    expect(await set({ maxDepth: 5, maxChildren: 20, maxRuns: 200 })).toMatchObject({ status: 200 });
    const changed = { scope: 'tenant', limits: { ...NONE, maxDepth: 0 }, version: 2 };
    expect(await set({ maxDepth: 0 })).toMatchObject({ status: 200, body: changed });
    expect((await api.get(TREES)).body).toEqual(changed);
    expect((await api.get(TREES, api.keys.foreign.key)).body).toMatchObject({ limits: NONE, version: 0 });
    expect((await set({}, { body: { limits: {} } })).body).toMatchObject({ limits: NONE, version: 3 });
  });

  it('are changed by admins only, at the version that is named, with an audit entry', async () => {
    const headers = { 'x-agentlens-actor': 'ann@example.com' };
    const { headers: before, body } = await api.get(TREES);
    const changed = await set({ maxRuns: 7 }, { headers: { ...headers, 'if-match': String(before.etag) } });
    expect(changed).toMatchObject({ status: 200, body: { version: body.version + 1 } });
    expect(await set({ maxRuns: 8 }, { headers: { 'if-match': String(before.etag) } })).toMatchObject({
      ...{ status: 412, body: { code: 'version_conflict', currentVersion: body.version + 1 } },
    });
    expect((await set({}, { key: api.keys.reader.key })).status).toBe(403);
    const { entries } = (await api.get('/api/audit?target=tree_limits&limit=1')).body;
    expect(entries).toMatchObject([
      {
        ...{ kind: 'tree_limits.set', targetId: 'acme', before: NONE, after: { ...NONE, maxRuns: 7 } },
        actor: { person: 'ann@example.com' },
      },
    ]);
  });

  it.each([
    ['limits.maxDepth', { limits: { maxDepth: 32 } }],
    ['limits.maxDepth', { limits: { maxDepth: -1 } }],
    ['limits.maxChildren', { limits: { maxChildren: 0 } }],
    ['limits.maxChildren', { limits: { maxChildren: 10_001 } }],
    ['limits.maxRuns', { limits: { maxRuns: 1.5 } }],
    ['limits.maxRuns', { limits: { maxRuns: '200' } }],
    ['limits', { limits: { maxBreadth: 3 } }],
    ['limits', {}],
    ['scope', { scope: 'agent', limits: {} }],
    ['', { limits: {}, tenantId: 'globex' }],
  ])('rejects %s of %j', async (path, body) => {
    const answer = await api.call('PUT', TREES, { body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', details: [{ path }] } });
  });
});
