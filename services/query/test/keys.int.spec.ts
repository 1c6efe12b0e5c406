import { keysChanged, keyUsed } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;
beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

const create = (body: object) => api.call('POST', '/api/keys', { body });

describe('API keys', () => {
  it('are shown once, belong to the tenant of their creator, and work at once', async () => {
    const { status, body } = await create({ name: 'ci', scopes: ['read'], eventsPerSecond: 100 });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'ci',
      scopes: ['read'],
      tenantId: 'acme',
      eventsPerSecond: 100,
      createdAt: NOW,
    });
    expect(body.key).toMatch(/^agk_live_/);
    expect((await api.get('/api/events', body.key)).status).toBe(200);
    const listed = await api.get('/api/keys');
    expect(listed.body.keys.map((key: { id: string }) => key.id)).toContain(body.id);
    expect(JSON.stringify(listed.body)).not.toContain(body.key);
    expect(listed.body.keys[0]).not.toHaveProperty('key');
  });

  it('are listed newest first, in pages, including those created at the same time', async () => {
    for (let n = 0; n < 5; n++) await create({ name: `paged-${n}` });
    const whole = (await api.get('/api/keys')).body;
    expect(whole).toEqual({ keys: expect.any(Array), hasMore: false });
    const ids: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await api.get(`/api/keys?limit=2${cursor}`);
      ids.push(...body.keys.map((key: { id: string }) => key.id));
      if (!body.hasMore) break;
      expect(body.keys).toHaveLength(2);
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(ids).toEqual(whole.keys.map((key: { id: string }) => key.id));
    expect(new Set(ids).size).toBeGreaterThan(5);
    expect((await api.get('/api/keys?offset=1&limit=1')).body.keys[0].id).toBe(ids[1]);
  });

  it('show their last use as reported by the instance that checked them', async () => {
    const { body: made } = await create({ name: 'used' });
    const tell = (at: string) => api.bus.publish(keyUsed, { tenantId: 'acme', keyId: made.id, at });
    const shown = async () =>
      (await api.get('/api/keys')).body.keys.find((key: { id: string }) => key.id === made.id).lastUsedAt;
    expect(await shown()).toBeNull();
    await tell('2026-03-01T12:05:00.000Z');
    await eventually(async () => expect(await shown()).toBe('2026-03-01T12:05:00.000Z'));
    await tell('2026-03-01T12:01:00.000Z');
    await tell('2026-03-01T12:06:00.000Z');
    await eventually(async () => expect(await shown()).toBe('2026-03-01T12:06:00.000Z'));
  });

  it('accept the scope names of AgentLens', async () => {
    expect((await create({ scopes: ['write'] })).body.scopes).toEqual(['ingest', 'decide']);
    expect((await create({ scopes: ['manage'] })).body.scopes).toEqual(['admin']);
    expect((await create({})).body.scopes).toEqual(['ingest', 'decide', 'read']);
  });

  it('cannot be created for another tenant or with a past expiry', async () => {
    expect((await create({ tenantId: 'globex' })).status).toBe(400);
    const answer = await create({ expiresAt: '2020-01-01T00:00:00Z' });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: 'expiresAt' }] } });
  });

  it('can be bound to agents, and so can their successors', async () => {
    const { status, body } = await create({ name: 'bots', scopes: ['ingest', 'decide'], agents: ['bot', 'shop'] });
    expect({ status, agents: body.agents }).toEqual({ status: 201, agents: ['bot', 'shop'] });
    expect(await api.platform.keys.check(body.key)).toMatchObject({ caller: { agents: ['bot', 'shop'] } });
    const next = await api.call('POST', `/api/keys/${body.id}/rotate`);
    expect(next.body.agents).toEqual(['bot', 'shop']);
    expect((await create({})).body.agents).toBeNull();
  });

  it.each([
    ['no agent', { scopes: ['decide'], agents: [] }, 'agents'],
    ['a name with control characters', { scopes: ['decide'], agents: ['a\nb'] }, 'agents.0'],
    ['a scope that reaches every agent', { agents: ['bot'] }, 'scopes'],
  ])('cannot be bound to agents with %s', async (_what, body, path) => {
    expect(await create(body)).toMatchObject({ status: 400, body: { details: [{ path }] } });
  });

  it('are rotated without a gap: both work for a day', async () => {
    const old = (await create({ name: 'rolled', scopes: ['read'] })).body;
    const { status, body } = await api.call('POST', `/api/keys/${old.id}/rotate`);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: 'rolled',
      scopes: ['read'],
      previous: { id: old.id, expiresAt: '2026-03-02T12:00:00.000Z' },
    });
    for (const key of [old.key, body.key]) expect((await api.get('/api/stats', key)).status).toBe(200);
  });

  it('keep their expiry when they are rotated', async () => {
    const expiresAt = '2026-03-01T18:00:00.000Z';
    const old = (await create({ name: 'short', scopes: ['read'], expiresAt })).body;
    const { body } = await api.call('POST', `/api/keys/${old.id}/rotate`);
    expect(body).toMatchObject({ expiresAt, previous: { id: old.id, expiresAt } });
  });

  it('stop working on every instance when they are revoked', async () => {
    const announced: string[] = [];
    const watch = await api.bus.watch(keysChanged, { from: 'new' }, ({ value }) => announced.push(value.keyId));
    const { body } = await create({ scopes: ['read'] });
    expect((await api.get('/api/stats', body.key)).status).toBe(200);
    const revoked = await api.call('DELETE', `/api/keys/${body.id}`);
    expect(revoked).toMatchObject({ status: 200, body: { id: body.id, revoked: true } });
    await eventually(async () => {
      expect(announced).toEqual([body.id]);
      expect(await api.get('/api/stats', body.key)).toMatchObject({ status: 401, body: { error: 'API key revoked' } });
    });
    await watch.close();
  });

  it('can be revoked only once', async () => {
    const { body } = await create({ scopes: ['read'] });
    await api.call('DELETE', `/api/keys/${body.id}`);
    expect((await api.call('DELETE', `/api/keys/${body.id}`)).status).toBe(409);
    expect((await api.call('POST', `/api/keys/${body.id}/rotate`)).status).toBe(409);
  });

  it('can be changed only at the version that was read', async () => {
    const { body: made, headers } = await create({ name: 'versioned', scopes: ['read'] });
    expect({ version: made.version, etag: headers.etag }).toEqual({ version: 1, etag: '"1"' });
    const change = (method: 'POST' | 'DELETE', tag: string) =>
      api.call(method, `/api/keys/${made.id}${method === 'POST' ? '/rotate' : ''}`, { headers: { 'if-match': tag } });
    const others = (currentVersion: number) => ({
      status: 412,
      headers: { etag: `"${currentVersion}"` },
      body: { code: 'version_conflict', currentVersion },
    });
    expect(await change('POST', '"7"')).toMatchObject(others(1));
    const rotations = await Promise.all([change('POST', '"1"'), change('POST', '"1"')]);
    expect(rotations.filter(({ status }) => status === 201)).toMatchObject([
      { body: { version: 1, previous: { id: made.id, version: 2 } } },
    ]);
    expect(rotations.filter(({ status }) => status !== 201)).toMatchObject([others(2)]);
    expect(await change('DELETE', '"1"')).toMatchObject(others(2));
    expect((await api.get('/api/stats', made.key)).status).toBe(200);
    expect((await change('DELETE', '"2"')).status).toBe(200);
    const { keys } = (await api.get('/api/keys')).body;
    expect(keys.find(({ id }: { id: string }) => id === made.id)).toMatchObject({ version: 3 });
    expect(await change('DELETE', '"2"')).toMatchObject(others(3));
    expect((await change('DELETE', '"3"')).status).toBe(409);
  });

  it('must include one that can create others: the last admin key cannot be revoked', async () => {
    const answer = await api.call('DELETE', `/api/keys/${api.keys.foreign.id}`, { key: api.keys.foreign.key });
    expect(answer).toMatchObject({ status: 409, body: { hint: expect.stringContaining('first') } });
  });

  it('leave one admin if two admins revoke each other at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const tenantId = `duel-${round}`;
      await api.insert('tenants', { id: tenantId, name: tenantId, created_at: NOW });
      const [first, second] = [await api.newKey(['admin'], tenantId), await api.newKey(['admin'], tenantId)];
      const answers = await Promise.all([
        api.call('DELETE', `/api/keys/${second.id}`, { key: first.key }),
        api.call('DELETE', `/api/keys/${first.id}`, { key: second.key }),
      ]);
      // The second request fails because it would revoke the last admin, or because its own key was already revoked.
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });

  it('require an admin key', async () => {
    expect((await api.get('/api/keys', api.keys.reader.key)).status).toBe(403);
  });
});
