import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;
beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api.close());

const set = (name: string, body: object) =>
  api.call('PUT', `/api/model-connections/${name}`, { body: { dialect: 'openai', credential: 'sk-1', ...body } });
const remove = (name: string) => api.call('DELETE', `/api/model-connections/${name}`);

describe('the fallback of a model connection', () => {
  it('is set, shown, removed, and recorded as a change', async () => {
    expect((await set('eu', {})).body).toMatchObject({ fallback: null, firstByteSeconds: null });
    const { status, body } = await set('us', { fallback: 'eu', firstByteSeconds: 60 });
    expect([status, body]).toEqual([200, expect.objectContaining({ fallback: 'eu', firstByteSeconds: 60 })]);
    const { connections } = (await api.get('/api/model-connections')).body;
    expect(connections).toMatchObject([{ name: 'eu' }, { name: 'us', fallback: 'eu', firstByteSeconds: 60 }]);
    expect((await set('us', {})).body).toMatchObject({ fallback: null, firstByteSeconds: null });
  });

  it.each([
    ['a missing connection', { fallback: 'other' }, 'fallback', /create it first/],
    ['itself', { fallback: 'us' }, 'fallback', /lead back.*us → us/],
    ['one of another dialect', { fallback: 'claude' }, 'fallback', /speaks anthropic/],
    ['an invalid name', { fallback: 'Not A Name' }, 'fallback', /lower-case/],
    ['no time at all', { firstByteSeconds: 0 }, 'firstByteSeconds', /1/],
    ['more time than a call has', { firstByteSeconds: 901 }, 'firstByteSeconds', /900/],
  ])('is refused by the name of the field: %s', async (_what, draft, path, message) => {
    await set('claude', { dialect: 'anthropic' });
    const { status, body } = await set('us', draft);
    expect([status, body.details]).toEqual([400, [{ path, message: expect.stringMatching(message) }]]);
  });

  it('never leads back, and is neither deleted nor turned into another dialect while it is used', async () => {
    await set('c', {});
    await set('b', { fallback: 'c' });
    await set('a', { fallback: 'b' });
    expect((await set('c', { fallback: 'a' })).body.details).toEqual([
      { path: 'fallback', message: 'must not lead back to this connection: c → a → b → c' },
    ]);
    expect((await set('b', { dialect: 'gemini' })).body.details).toEqual([
      { path: 'dialect', message: 'must stay the same: this connection is the fallback of "a"' },
    ]);
    const { status, body } = await remove('b');
    expect([status, body.error]).toEqual([409, 'The connection is the fallback of "a"']);
    await set('a', {});
    expect((await remove('b')).status).toBe(200);
  });
});
