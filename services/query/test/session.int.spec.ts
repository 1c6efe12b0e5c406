import { HOUR_MS } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignInCodes } from '../src/index.ts';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

const HERE = 'http://console.test';

let api: OperatorApi;

beforeAll(async () => {
  api = await startOperatorApi();
});
afterAll(() => api?.close());

type Headers = Record<string, string>;

const send = (method: 'GET' | 'POST' | 'DELETE', url: string, headers: Headers = {}, body?: unknown) =>
  api.app.inject({
    method,
    url,
    headers: {
      host: 'console.test',
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    payload: body === undefined ? undefined : JSON.stringify(body),
  });

const signIn = async (body: object, headers: Headers = { origin: HERE }) => {
  const answer = await send('POST', '/api/session', headers, body);
  const [cookie = ''] = [answer.headers['set-cookie']].flat();
  const answered = answer.json() as { readonly pageSecret?: string };
  const { pageSecret = '' } = answered;
  return { status: answer.statusCode, cookie: String(cookie), pageSecret, body: answered };
};

const pairOf = (cookie: string) => cookie.split(';')[0] ?? '';

describe('a session', () => {
  it('exchanges a key for a cookie that scripts cannot read and that does not contain the key', async () => {
    const { status, cookie } = await signIn({ key: api.keys.reader.key });
    expect(status).toBe(200);
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(api.keys.reader.key);
    const me = await send('GET', '/api/me', { cookie: pairOf(cookie) });
    expect(me.json()).toMatchObject({ tenantId: 'acme', keyId: api.keys.reader.id, scopes: ['read'] });
  });

  it('is Secure if the browser used HTTPS', async () => {
    const { cookie } = await signIn({ key: api.keys.reader.key }, { origin: HERE, 'x-forwarded-proto': 'https' });
    expect(cookie).toContain('; Secure');
  });

  it('rejects a key that is unknown or may not read', async () => {
    expect(await signIn({ key: 'agk_live_nonsense' })).toMatchObject({ status: 401, cookie: '' });
    expect(await signIn({ key: api.keys.ingest.key })).toMatchObject({ status: 403, cookie: '' });
    expect(await signIn({})).toMatchObject({ status: 400 });
  });

  it('cannot be created by another page', async () => {
    expect(await signIn({ key: api.keys.admin.key }, { origin: 'http://evil.test' })).toMatchObject({ status: 403 });
  });

  it('accepts changes only from its own page', async () => {
    const session = await signIn({ key: api.keys.admin.key });
    const cookie = pairOf(session.cookie);
    const create = (headers: Headers) =>
      send(
        'POST',
        '/api/keys',
        { cookie, 'x-agentlens-page': session.pageSecret, ...headers },
        { name: 'by a browser' },
      );
    expect((await create({})).statusCode).toBe(403);
    expect((await create({ origin: 'http://evil.test' })).statusCode).toBe(403);
    expect((await create({ origin: 'null' })).statusCode).toBe(403);
    expect((await create({ origin: HERE })).statusCode).toBe(201);
    expect((await create({ origin: 'https://public.test', 'x-forwarded-host': 'public.test' })).statusCode).toBe(201);
  });

  it('changes nothing with the cookie alone, which browsers send to every port of the host', async () => {
    const session = await signIn({ key: api.keys.admin.key });
    const other = await signIn({ key: api.keys.admin.key });
    const headers = { cookie: pairOf(session.cookie), origin: HERE };
    const create = (secret: Headers) => send('POST', '/api/keys', { ...headers, ...secret }, { name: 'stolen' });
    const secrets: Headers[] = [{}, { 'x-agentlens-page': 'guess' }, { 'x-agentlens-page': other.pageSecret }];
    for (const secret of secrets) {
      const answer = await create(secret);
      expect([answer.statusCode, answer.json().code]).toEqual([403, 'page_secret_required']);
    }
    expect((await send('GET', '/api/me', headers)).statusCode).toBe(200);
    expect(await signIn({ key: api.keys.admin.key }, headers)).toMatchObject({ status: 200 });
    expect((await send('DELETE', '/api/session', headers)).statusCode).toBe(200);
  });

  it('ends with its key, and when the user signs out', async () => {
    const { id, key } = await api.newKey(['read']);
    const cookie = pairOf((await signIn({ key })).cookie);
    const [ended = ''] = [
      (await send('DELETE', '/api/session', { cookie, origin: HERE })).headers['set-cookie'],
    ].flat();
    expect(ended).toMatch(/^agentlens_session=; Max-Age=0/);
    await api.call('DELETE', `/api/keys/${id}`);
    expect((await send('GET', '/api/me', { cookie })).statusCode).toBe(401);
  });

  it('is rejected on the server after the user signs out, for a copy of its cookie too', async () => {
    const [mine, other] = [await signIn({ key: api.keys.reader.key }), await signIn({ key: api.keys.reader.key })];
    const me = async ({ cookie }: { cookie: string }) =>
      (await send('GET', '/api/me', { cookie: pairOf(cookie) })).statusCode;
    expect([await me(mine), await me(other)]).toEqual([200, 200]);
    await send('DELETE', '/api/session', { cookie: pairOf(mine.cookie), origin: HERE });
    expect([await me(mine), await me(other)]).toEqual([401, 200]);
  });

  it('is listed and can be ended by its own key and by an admin, and by no other key', async () => {
    const { id, key } = await api.newKey(['read']);
    const session = await signIn({ key }, { origin: HERE, 'user-agent': 'Browser/1' });
    const other = await api.newKey(['read']);
    const listed = async (by: string) => (await api.get('/api/browser-sessions', by)).body.sessions;
    const [mine] = await listed(key);
    expect(mine).toMatchObject({ keyId: id, userAgent: 'Browser/1', isCurrent: false });
    expect(await listed(other.key)).toEqual([]);
    expect(await listed(api.keys.admin.key)).toContainEqual(mine);
    const own = await send('GET', '/api/browser-sessions', { cookie: pairOf(session.cookie) });
    expect(own.json().sessions).toMatchObject([{ id: mine.id, isCurrent: true }]);
    expect((await api.call('DELETE', `/api/browser-sessions/${mine.id}`, { key: other.key })).status).toBe(404);
    expect((await api.call('DELETE', `/api/browser-sessions/${mine.id}`)).status).toBe(200);
    const after = await send('GET', '/api/me', { cookie: pairOf(session.cookie) });
    expect([after.statusCode, after.json().error]).toEqual([401, 'This browser session was ended']);
    expect(await listed(key)).toEqual([]);
  });

  it('expires after a week and is rejected if it was altered', async () => {
    const cookie = pairOf((await signIn({ key: api.keys.reader.key })).cookie);
    expect((await send('GET', '/api/me', { cookie: `${cookie.slice(0, -8)}AAAAAAAA` })).statusCode).toBe(401);
    api.clock.advance(8 * 24 * HOUR_MS);
    expect((await send('GET', '/api/me', { cookie })).statusCode).toBe(401);
  });
});

describe('a sign-in code', () => {
  it('signs in once', async () => {
    const { code } = (await api.call('POST', '/api/session/codes', { key: api.keys.reader.key })).body;
    expect(await signIn({ code })).toMatchObject({ status: 200 });
    expect(await signIn({ code })).toMatchObject({ status: 401, body: { error: 'This sign-in link was used before' } });
  });

  it('is valid for an hour', async () => {
    const { code } = api.app.get(SignInCodes, { strict: false }).create(api.keys.reader.key);
    api.clock.advance(HOUR_MS + 1);
    expect(await signIn({ code })).toMatchObject({ status: 401, body: { error: 'This sign-in link has expired' } });
  });

  it('cannot be forged', async () => {
    expect(await signIn({ code: 'bm9uc2Vuc2U' })).toMatchObject({ status: 401 });
  });
});

describe('the console', () => {
  it('is served at every page address, but not for an unknown route of the API', async () => {
    const html = { accept: 'text/html,application/xhtml+xml' };
    for (const url of ['/', '/runs/some-run', '/guardrails/new']) {
      const page = await send('GET', url, html);
      expect(page.statusCode).toBe(200);
      expect(page.headers['content-type']).toContain('text/html');
      expect(page.headers['cache-control']).toBe('no-store');
      expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    }
    for (const url of ['/api/unknown', '/v1/unknown', '/mcp/x', '/unknown']) {
      expect((await send('GET', url, html)).statusCode).toBe(404);
    }
    expect((await send('GET', '/api/session', html)).statusCode).toBe(405);
  });

  it('is served below the prefix that a proxy stripped', async () => {
    const page = await send('GET', '/runs', { accept: 'text/html', 'x-forwarded-prefix': '/lens' });
    expect(page.body).toContain('<base href="/lens/"');
  });

  it('sends its files compressed, and cacheable forever if their name contains a hash', async () => {
    const unknown = await send('GET', '/nonsense', { accept: 'text/html' });
    expect([unknown.statusCode, unknown.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect((await send('GET', '/nonsense')).json()).toMatchObject({ code: 'not_found' });
    expect((await send('GET', '/api/nonsense', { accept: 'text/html' })).json()).toMatchObject({ code: 'not_found' });
    const moved = await send('GET', '/rules/new?tool=x', { accept: 'text/html' });
    expect([moved.statusCode, moved.headers.location]).toEqual([308, '/guardrails/new?tool=x']);
    const page = await send('GET', '/', { accept: 'text/html' });
    const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(page.body)?.[1];
    const file = await send('GET', `/${script}`, { 'accept-encoding': 'gzip, br' });
    expect(file.statusCode).toBe(200);
    expect(file.headers['content-encoding']).toBe('br');
    expect(file.headers['cache-control']).toContain('immutable');
    expect((await send('GET', '/assets/../package.json')).statusCode).toBe(404);
  });
});
