import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { apiKeyHash, newApiKey } from '@agentlens/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';

const inDays = (days: number) => new Date(Date.parse(NOW) + days * DAY_MS).toISOString();

/** People with a role each; Vic only reads, and Gus was disabled. */
const PEOPLE = { ann: 'approver', ben: 'approver', vic: 'viewer', gus: 'approver' } as const;

describe('deputies', () => {
  let api: OperatorApi;
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    api = await startOperatorApi();
    for (const tenant of ['acme', 'globex']) {
      for (const [person, role] of Object.entries(PEOPLE)) {
        const about = { name: person.toUpperCase(), state: person === 'gus' ? 'disabled' : 'active' };
        await api.insert('people', { tenant_id: tenant, person_id: person, created_at: NOW, ...about });
        await api.insert('person_grants', { tenant_id: tenant, person_id: person, role, source: 'manual' });
      }
    }
    for (const person of ['ann', 'ben', 'vic']) {
      const { id, key } = newApiKey('person');
      await api.insert('api_keys', {
        ...{ tenant_id: 'acme', key_id: id, name: person, secret_hash: apiKeyHash(key), scopes: ['read', 'review'] },
        ...{ person_id: person, via: 'console', created_at: NOW, signed_in_at: NOW, expires_at: inDays(60) },
      });
      keys[person] = key;
    }
  });
  afterAll(() => api?.close());
  beforeEach(async () => {
    api.clock.set(NOW);
    await end('ann', 'ben');
  });

  const name = (person: string, deputy: string, body: object) =>
    api.call('PUT', `/api/me/deputies/${deputy}`, { key: keys[person] ?? '', body });
  const read = async (person: string) => (await api.get('/api/me/deputies', keys[person])).body;
  const end = (person: string, deputy: string) =>
    api.call('DELETE', `/api/me/deputies/${deputy}`, { key: keys[person] ?? '' });

  it('are named for some time, seen by both, and ended', async () => {
    const named = await name('ann', 'ben', { endsAt: inDays(2) });
    expect(named.status).toBe(200);
    expect(named.body).toEqual({ person: 'ben', name: 'BEN', startsAt: NOW, endsAt: inDays(2), state: 'active' });
    expect(await read('ann')).toEqual({
      deputies: [{ person: 'ben', name: 'BEN', startsAt: NOW, endsAt: inDays(2), state: 'active' }],
      ...{ standsInFor: [], candidates: [{ person: 'ben', name: 'BEN' }] },
    });
    expect(await read('ben')).toMatchObject({ deputies: [], standsInFor: [{ person: 'ann', name: 'ANN' }] });
    const ended = await end('ann', 'ben');
    expect(ended.status).toBe(200);
    expect(ended.body).toEqual({ id: 'ben', ended: true });
    expect(await end('ann', 'ben')).toMatchObject({ status: 404 });
    expect(await read('ben')).toMatchObject({ standsInFor: [] });
    const kinds = async (kind: string) => (await api.get(`/api/audit?kind=${kind}`)).body.entries;
    expect(await kinds('deputy.named')).toMatchObject([
      { targetId: 'ben', actor: { personId: 'ann' }, after: { person: 'ann', deputy: 'ben', endsAt: inDays(2) } },
    ]);
    expect(await kinds('deputy.ended')).toMatchObject([{ targetId: 'ben', actor: { personId: 'ann' } }]);
  });

  it('can be planned, and end by themselves', async () => {
    await name('ann', 'ben', { startsAt: inDays(1), endsAt: inDays(2) });
    expect(await read('ann')).toMatchObject({ deputies: [{ state: 'pending' }] });
    api.clock.advance(DAY_MS + HOUR_MS);
    expect(await read('ann')).toMatchObject({ deputies: [{ state: 'active' }] });
    api.clock.advance(DAY_MS);
    expect(await read('ann')).toMatchObject({ deputies: [] });
    expect(await end('ann', 'ben')).toMatchObject({ status: 404 });
  });

  it.each([
    ['the person itself', 'ann', { endsAt: inDays(1) }, 'id'],
    ['a person without a role that reviews', 'vic', { endsAt: inDays(1) }, 'id'],
    ['a disabled person', 'gus', { endsAt: inDays(1) }, 'id'],
    ['an end in the past', 'ben', { endsAt: inDays(-1) }, 'endsAt'],
    ['an end before the start', 'ben', { startsAt: inDays(2), endsAt: inDays(1) }, 'endsAt'],
    ['31 days', 'ben', { endsAt: inDays(31) }, 'endsAt'],
  ])('cannot be %s', async (_what, deputy, body, path) => {
    expect(await name('ann', deputy, body)).toMatchObject({ status: 422, body: { details: [{ path }] } });
    expect(await read('ann')).toMatchObject({ deputies: [] });
  });

  it('are people of the tenant', async () => {
    expect(await name('ann', 'unknown', { endsAt: inDays(1) })).toMatchObject({ status: 404 });
  });

  it('belong to people: a key of a program has none', async () => {
    expect((await api.get('/api/me/deputies')).body).toEqual({ deputies: [], standsInFor: [], candidates: [] });
    expect(await api.call('PUT', '/api/me/deputies/ben', { body: { endsAt: inDays(1) } })).toMatchObject({
      status: 403,
    });
  });

  it('end with the person who is disabled, on both sides, and do not return', async () => {
    await name('ann', 'ben', { endsAt: inDays(2) });
    await name('ben', 'ann', { endsAt: inDays(2) });
    for (const state of ['disabled', 'active'])
      expect(await api.call('PATCH', '/api/people/ben', { body: { state } })).toMatchObject({ status: 200 });
    expect(await read('ann')).toMatchObject({ deputies: [], standsInFor: [], candidates: [{ person: 'ben' }] });
  });
});
