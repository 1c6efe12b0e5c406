import { DAY_MS } from '@agentlens/contracts';
import { apiKeyHash, newApiKey } from '@agentlens/platform';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';

const inDays = (days: number) => new Date(Date.parse(NOW) + days * DAY_MS).toISOString();
const DAY = NOW.slice(0, 10);
const PATH = '/api/on-call/platform';
const LAYER = { people: ['ann', 'ben'], rotation: 'day', startsOn: DAY, handover: '00:00', zone: 'UTC' };

describe('on-call schedules', () => {
  let api: OperatorApi;
  const keys: Record<string, string> = {};

  beforeAll(async () => {
    api = await startOperatorApi();
    for (const person of ['ann', 'ben', 'cem'])
      await api.insert('people', { tenant_id: 'acme', person_id: person, created_at: NOW, name: person.toUpperCase() });
    for (const [name, scopes] of Object.entries({
      viewer: ['read'],
      operator: ['read', 'operate'],
      editor: ['read', 'edit'],
    })) {
      const { id, key } = newApiKey();
      await api.insert('api_keys', {
        ...{ tenant_id: 'acme', key_id: id, name, secret_hash: apiKeyHash(key), scopes, created_at: NOW },
      });
      keys[name] = key;
    }
    for (const id of ['platform', 'theirs'])
      await api.insert('on_call_schedules', {
        ...{ tenant_id: 'globex', schedule_id: id, name: 'Globex', layers: '[]', created_at: NOW },
      });
  });
  afterAll(() => api?.close());
  beforeEach(async () => {
    api.clock.set(NOW);
    await api.call('DELETE', PATH);
    await set();
  });

  const set = (body: object = {}, key = keys.editor ?? '') =>
    api.call('PUT', PATH, { key, body: { name: 'Platform', layers: [LAYER], ...body } });
  const add = (body: object, key = keys.operator ?? '') => api.call('POST', `${PATH}/overrides`, { key, body });

  it('say who is on call at a moment and why, and who comes next', async () => {
    expect((await api.get(PATH, keys.viewer)).body).toMatchObject({
      ...{ id: 'platform', name: 'Platform', layers: [LAYER], overrides: [], at: NOW },
      onCall: { person: 'ann', name: 'ANN', because: 'layer', layer: 1 },
      next: { person: 'ben', name: 'BEN', at: `${inDays(1).slice(0, 10)}T00:00:00.000Z` },
    });
    expect((await api.get(`${PATH}?at=${inDays(1)}`)).body).toMatchObject({ at: inDays(1), onCall: { person: 'ben' } });
    expect((await api.get(`${PATH}?at=${inDays(-2)}`)).body).toMatchObject({
      ...{ onCall: { person: null, name: null, because: 'empty_shift' }, next: { person: 'ann' } },
    });
    expect(await api.get(`${PATH}?at=noon`)).toMatchObject({ status: 400 });
    expect((await api.get('/api/on-call')).body.schedules).toMatchObject([{ id: 'platform', version: 1 }]);
  });

  it('take an override, which ends early and stays in the past', async () => {
    const { body } = await add({ person: 'cem', to: inDays(1) });
    expect(body).toMatchObject({ onCall: { person: 'cem', name: 'CEM', because: 'override' } });
    const [override] = body.overrides;
    expect(override).toEqual({ id: expect.any(String), person: 'cem', name: 'CEM', from: NOW, to: inDays(1) });
    api.clock.advance(1_000);
    const ended = await api.call('DELETE', `${PATH}/overrides/${override.id}`, { key: keys.operator ?? '' });
    expect(ended.body).toMatchObject({ overrides: [], onCall: { person: 'ann' } });
    expect((await api.get(`${PATH}?at=${NOW}`)).body).toMatchObject({ onCall: { person: 'cem' } });
    expect(await api.call('DELETE', `${PATH}/overrides/${override.id}`)).toMatchObject({ status: 404 });
    const audited = async (kind: string) => (await api.get(`/api/audit?kind=on_call.${kind}`)).body.entries[0];
    expect([await audited('override_ended'), await audited('override_added'), await audited('set')]).toMatchObject([
      { kind: 'on_call.override_ended', targetId: 'platform', before: { person: 'cem' } },
      { kind: 'on_call.override_added', after: { person: 'cem', from: NOW, to: inDays(1) } },
      { kind: 'on_call.set', after: { name: 'Platform' } },
    ]);
  });

  it.each([
    ['a start in the past', { person: 'cem', from: inDays(-1), to: inDays(1) }, 'from'],
    ['an end before the start', { person: 'cem', from: inDays(2), to: inDays(1) }, 'to'],
    ['31 days', { person: 'cem', to: inDays(31) }, 'to'],
    ['a person who does not exist', { person: 'gus', to: inDays(1) }, 'person'],
  ])('take no override with %s', async (_what, body, path) => {
    expect(await add(body)).toMatchObject({ status: 422, body: { details: [{ path }] } });
  });

  it('take at most 200 overrides', async () => {
    for (let n = 0; n < 200; n += 1)
      await api.insert('on_call_overrides', {
        ...{ tenant_id: 'acme', schedule_id: 'platform', override_id: `o-${n}`, person_id: 'ann' },
        ...{ starts_at: inDays(1), ends_at: inDays(2), created_at: NOW },
      });
    expect(await add({ person: 'cem', to: inDays(1) })).toMatchObject({ status: 409 });
  });

  it('name people who exist, and a zone that exists', async () => {
    expect(await set({ layers: [{ ...LAYER, people: ['ann', 'gus'] }] })).toMatchObject({
      ...{ status: 422, body: { details: [{ path: 'layers.0.people.1' }] } },
    });
    expect(await set({ layers: [{ ...LAYER, zone: 'Europe/Atlantis' }] })).toMatchObject({ status: 400 });
  });

  it('are read by viewers, overridden by operators and changed by editors', async () => {
    expect(await add({ person: 'cem', to: inDays(1) }, keys.viewer)).toMatchObject({ status: 403 });
    expect(await add({ person: 'cem', to: inDays(1) }, keys.editor)).toMatchObject({ status: 403 });
    expect(await set({}, keys.operator)).toMatchObject({ status: 403 });
    expect(await api.call('DELETE', PATH, { key: keys.operator ?? '' })).toMatchObject({ status: 403 });
  });

  it('are not changed by a person who has seen an older version', async () => {
    const headers = { 'if-match': '"7"' };
    expect(await api.call('PUT', PATH, { body: { name: 'x', layers: [] }, headers })).toMatchObject({ status: 412 });
  });

  it('are not deleted while an approval policy names them', async () => {
    await api.insert('approval_policies', {
      ...{ tenant_id: 'acme', policy_id: 'pay', place: 1, version: 1, saved_at: NOW },
      body: JSON.stringify({ name: 'Payments', approvers: { onCall: ['platform'] } }),
    });
    expect(await api.call('DELETE', PATH)).toMatchObject({
      ...{ status: 409, body: { details: [{ message: 'the approval policy "Payments" names it' }] } },
    });
    // The audit is ordered by time.
    api.clock.advance(1_000);
    await api.call('PUT', '/api/on-call/free', { body: { name: 'Free', layers: [] } });
    expect(await api.call('DELETE', '/api/on-call/free')).toMatchObject({ status: 200, body: { deleted: true } });
    expect(await api.get('/api/on-call/free')).toMatchObject({ status: 404 });
    const { entries } = (await api.get('/api/audit?kind=on_call.deleted')).body;
    expect(entries[0]).toMatchObject({ targetId: 'free', before: { name: 'Free' } });
  });

  it('of another tenant do not exist', async () => {
    for (const [method, path] of [
      ...[['GET', ''] as const, ['DELETE', ''] as const],
      ['DELETE', '/overrides/x'] as const,
    ])
      expect(await api.call(method, `/api/on-call/theirs${path}`)).toMatchObject({
        ...{ status: 404, body: { error: 'On-call schedule not found' } },
      });
  });
});
