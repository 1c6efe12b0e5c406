import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;
beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

/** Advances the clock first, so that each change is newer than the previous one. */
const change: OperatorApi['call'] = (...request) => {
  api.clock.advance(1_000);
  return api.call(...request);
};

const entries = async (query = '', key?: string) => (await api.get(`/api/audit${query}`, key)).body.entries;

describe('the audit', () => {
  it('has a row for each change, with its author and the values before and after', async () => {
    const headers = { 'x-agentlens-actor': 'ann@example.com' };
    const body = { defaultBreaker: 'off' };
    expect((await change('PATCH', '/api/settings', { body, headers })).status).toBe(200);
    expect(await entries('?target=settings')).toEqual([
      {
        id: expect.any(String),
        tenantId: 'acme',
        changedAt: expect.any(String),
        kind: 'settings.changed',
        target: 'settings',
        targetId: 'acme',
        actor: { person: 'ann@example.com', keyId: api.keys.admin.id, keyName: 'admin' },
        reason: null,
        before: expect.objectContaining({ defaultBreaker: 'on', version: 1 }),
        after: expect.objectContaining({ defaultBreaker: 'off', version: 2 }),
      },
    ]);
  });

  it('contains no key, and names the one that was created, rotated or revoked', async () => {
    const made = (await change('POST', '/api/keys', { body: { name: 'ci' } })).body;
    const rotated = (await change('POST', `/api/keys/${made.id}/rotate`)).body;
    await change('DELETE', `/api/keys/${made.id}`);
    const found = await entries(`?targetId=${made.id}`);
    expect(found.map(({ kind }: { kind: string }) => kind)).toEqual(['key.revoked', 'key.rotated', 'key.created']);
    expect(found[1].after).toMatchObject({ id: rotated.id });
    for (const { key } of [made, rotated]) expect(JSON.stringify(found)).not.toContain(key.slice(-40));
  });

  it('records the creation of a tenant under the platform, and of its first key under the tenant', async () => {
    const { body } = await change('POST', '/api/tenants', { body: { id: 'initech' } });
    expect(await entries('?target=tenant', api.keys.platform.key)).toMatchObject([
      { kind: 'tenant.created', targetId: 'initech' },
    ]);
    const own = await entries('', body.adminKey.key);
    expect(own).toMatchObject([{ kind: 'key.created', actor: { keyId: api.keys.platform.id } }]);
  });

  it('is filtered by person, key, kind and time, in pages, for admins of the tenant only', async () => {
    const all = await entries();
    expect(await entries('?actor=ann@example.com')).toHaveLength(1);
    expect(await entries(`?actor=${api.keys.admin.id}`)).toEqual(
      all.filter(({ actor }: { actor: unknown }) => actor !== null),
    );
    expect(await entries('?kind=key.rotated,key.revoked')).toHaveLength(2);
    expect(await entries('?from=2027-01-01')).toEqual([]);
    expect((await api.get('/api/audit?kind=rule.renamed')).status).toBe(400);
    const first = (await api.get('/api/audit?limit=2')).body;
    const rest = (await api.get(`/api/audit?cursor=${first.nextCursor}`)).body;
    expect([...first.entries, ...rest.entries]).toEqual(all);
    expect((await api.get('/api/audit', api.keys.reader.key)).status).toBe(403);
    expect(await entries('?target=settings', api.keys.foreign.key)).toEqual([]);
  });

  it('cannot be changed by the service that serves it', async () => {
    const { db } = api.platform.database('query');
    await expect(db.deleteFrom('audit_entries').execute()).rejects.toThrow(/permission denied/);
    await expect(db.updateTable('audit_entries').set({ person: 'bob' }).execute()).rejects.toThrow(/permission denied/);
  });
});

describe('deploys', () => {
  const record = (body: object, key?: string) =>
    change('POST', '/api/deploys', { body, ...(key === undefined ? {} : { key }) });
  const versions = async (query = '', key = api.keys.reader.key) =>
    (await api.get(`/api/deploys${query}`, key)).body.deploys.map(({ version }: { version: string }) => version);

  it('are recorded once per version, with their author, and kept when a version comes back', async () => {
    const draft = { agentId: 'bot', version: '1.0', url: 'https://example.com/1.0', note: 'first' };
    const made = await record(draft);
    expect(made).toMatchObject({ status: 201, body: { ...draft, by: 'admin' } });
    expect((await record({ ...draft, note: 'again' })).body).toEqual(made.body);
    expect((await record({ ...draft, agentId: 'other' })).body.id).not.toBe(made.body.id);
    await record({ agentId: 'bot', version: '1.1' });
    expect((await record(draft)).body.id).not.toBe(made.body.id);
    expect(await versions('?agentId=bot')).toEqual(['1.0', '1.1', '1.0']);
    expect((await entries('?target=deploy&targetId=bot'))[2]).toMatchObject({
      kind: 'deploy.recorded',
      reason: 'first',
      after: { agentId: 'bot', version: '1.0', url: 'https://example.com/1.0' },
    });
  });

  it('can be dated back, and stand where they happened', async () => {
    const at = '2026-02-20T10:00:00Z';
    const old = await record({ agentId: 'dated', version: '2.0', at });
    expect(old).toMatchObject({ status: 201, body: { version: '2.0', at: '2026-02-20T10:00:00.000Z' } });
    await record({ agentId: 'dated', version: '2.1', at: '2026-02-25T10:00:00Z' });
    await record({ agentId: 'dated', version: '2.2' });
    expect((await record({ agentId: 'dated', version: '2.0', at: '2026-02-21T10:00:00Z' })).body).toEqual(old.body);
    expect(await versions('?agentId=dated')).toEqual(['2.2', '2.1', '2.0']);
    expect(await versions('?agentId=dated&from=2026-02-22&to=2026-02-26')).toEqual(['2.1']);
    // The audit says when it was recorded.
    expect(
      (await entries('?target=deploy&targetId=dated')).map(({ changedAt }: { changedAt: string }) => changedAt),
    ).not.toContain(old.body.at);
    expect(await record({ version: '3.0', at: '2999-01-01T00:00:00Z' })).toMatchObject({
      ...{ status: 400, body: { details: [{ path: 'at' }] } },
    });
  });

  it('without an agent concern every agent, and stay in their tenant and range', async () => {
    await record({ version: 'platform 7' });
    expect(await versions('?agentId=bot&limit=2')).toEqual(['platform 7', '1.0']);
    expect(await versions('', api.keys.foreign.key)).toEqual([]);
    expect(await versions('?to=2020-01-01')).toEqual([]);
  });

  it.each([
    [{ version: ' ' }, 'version'],
    [{ version: '1\n2' }, 'version'],
    [{ version: '1', url: 'javascript:alert(1)' }, 'url'],
    [{ version: '1', agentId: '' }, 'agentId'],
    [{ version: '1', note: 'x'.repeat(1001) }, 'note'],
  ])('reject %j and name the field', async (body, path) => {
    expect(await record(body)).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
  });

  it('need the scope review', async () => {
    expect((await record({ version: '1' }, api.keys.reader.key)).status).toBe(403);
  });
});

describe('the name of a person', () => {
  it.each(['Zoë Łuczak', 'ann@example.com'])('is accepted: %s', async (person) => {
    const headers = { 'x-agentlens-actor': Buffer.from(person).toString('latin1') };
    const body = { decisionArguments: 'none' };
    expect((await change('PATCH', '/api/settings', { body, headers })).status).toBe(200);
    expect((await entries('?limit=1'))[0].actor.person).toBe(person);
  });

  it.each(['', ' ', 'x'.repeat(201)])('is rejected: %j', async (person) => {
    const headers = { 'x-agentlens-actor': person };
    const refused = await change('PATCH', '/api/settings', { body: {}, headers });
    expect(refused).toMatchObject({ status: 400, body: { details: [{ path: 'X-AgentLens-Actor' }] } });
  });

  it('grants no permission', async () => {
    const headers = { 'x-agentlens-actor': 'admin' };
    const options = { body: {}, headers, key: api.keys.reader.key };
    expect((await change('PATCH', '/api/settings', options)).status).toBe(403);
  });
});
