import { createHash, randomBytes } from 'node:crypto';
import { COMMANDS, DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { listIdentityProviders, listPeople } from '@agentlens/operations';
import { apiKeyHash, newApiKey } from '@agentlens/platform';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import pg from 'pg';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { type RealProvider, startProvider } from './real-provider.ts';

const CONSOLE = 'http://console.test';
const REDIRECT = `${CONSOLE}/api/auth/oidc/callback`;

let api: OperatorApi;
let provider: RealProvider;
let providerId: string;
const accounts: Record<string, Record<string, unknown>> = {
  ann: { name: 'Ann Lee', email: 'ann@example.com', email_verified: true, groups: ['/finance', '/admins'] },
  ben: { name: 'Ben', groups: ['/finance'] },
  cem: { name: 'Cem', groups: ['/nobody'] },
  many: { name: 'Many', groups: [...Array.from({ length: 200 }, (_, n) => `/${'g'.repeat(40)}-${n}`), '/finance'] },
  crowd: { name: 'Crowd', groups: [...Array.from({ length: 2_000 }, (_, n) => `g${n}`), '/finance'] },
  over: {
    name: 'Over',
    _claim_names: { groups: 'src1' },
    _claim_sources: { src1: { endpoint: 'https://example.com' } },
  },
};
const MAPPING = [
  { claim: 'groups', is: '/finance', role: 'approver' },
  { claim: 'groups', is: '/admins', role: 'admin' },
];

beforeAll(async () => {
  // The provider warns that it is set up for development.
  for (const level of ['info', 'warn'] as const) jest.spyOn(console, level).mockImplementation(() => undefined);
  api = await startOperatorApi(undefined, { AGENTLENS_PUBLIC_URL: CONSOLE, AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' });
  provider = await startProvider({ redirectUri: REDIRECT, accounts });
  const made = await api.call('POST', '/api/identity-providers', { body: draft() });
  expect(made).toMatchObject({ status: 201 });
  providerId = made.body.id;
});
afterAll(async () => {
  await provider?.close();
  await api?.close();
});

const draft = (change: object = {}) => ({
  ...{
    name: 'Acme login',
    issuer: provider.issuer,
    clientId: 'agentlens',
    clientSecret: 'client secret',
    mapping: MAPPING,
  },
  ...change,
});

type Headers = Record<string, string>;

/** A browser: keeps cookies, and sends the page secret with what it changes. */
class Browser {
  readonly cookies = new Map<string, string>();
  pageSecret = '';

  async send(method: 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH', url: string, body?: unknown, headers: Headers = {}) {
    // Changes of the same key in the same millisecond are one message.
    api.clock.advance(1);
    const answer = await api.app.inject({
      ...{ method, url },
      headers: {
        ...{ host: 'console.test', cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(method === 'GET' ? {} : { origin: CONSOLE, 'x-agentlens-page': this.pageSecret }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      payload: body === undefined ? undefined : JSON.stringify(body),
    });
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/Max-Age=0/.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  async start(id = providerId, query = ''): Promise<string> {
    const answer = await this.send('GET', `/api/auth/oidc/${id}/start${query}`);
    expect(answer.statusCode).toBe(302);
    return String(answer.headers.location);
  }

  /** Goes to the provider and back, up to the callback. */
  async callback(subject: string, query = '') {
    const returned = await provider.signIn(await this.start(providerId, query), subject);
    return this.send('GET', `${returned.pathname}${returned.search}`);
  }

  async signIn(subject: string, query = '') {
    const answer = await this.callback(subject, query);
    expect([answer.statusCode, answer.body]).toEqual([302, '']);
    const [, code = ''] = /^\/sign-in#code=(.+)$/.exec(String(answer.headers.location)) ?? [];
    return this.exchange(code);
  }

  async exchange(code: string) {
    const answer = await this.send('POST', '/api/session', { code });
    if (answer.statusCode === 200) this.pageSecret = answer.json().pageSecret;
    return answer;
  }

  async me() {
    const answer = await this.send('GET', '/api/me');
    return { status: answer.statusCode, body: answer.json() };
  }
}

const audit = async (kind: string) => (await api.get(`/api/audit?kind=${kind}`)).body.entries;

describe('signing in with a provider', () => {
  it('makes the person known by name, with the roles of the groups, behind the Strict cookie', async () => {
    const browser = new Browser();
    const answer = await browser.signIn('ann', '?returnTo=/approvals');
    expect(answer.json()).toMatchObject({ ok: true, returnTo: '/approvals' });
    expect([answer.headers['set-cookie']].flat().join()).toMatch(
      /agentlens_session=[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict/,
    );
    const me = await browser.me();
    expect(me.body).toMatchObject({
      tenantId: 'acme',
      keyName: 'Ann Lee, console',
      person: { name: 'Ann Lee', via: 'console' },
    });
    expect(me.body.scopes).toEqual(expect.arrayContaining(['read', 'review', 'admin']));
    const [started] = await audit('session.started');
    expect(started).toMatchObject({
      targetId: me.body.person.id,
      actor: { person: 'Ann Lee', personId: me.body.person.id, via: 'console' },
    });
  });

  it('is attributed in the audit by person, way and session', async () => {
    const browser = new Browser();
    await browser.signIn('ann');
    expect(
      (await browser.send('PUT', '/api/teams/finance', { name: 'Finance', agents: ['billing-*'] })).statusCode,
    ).toBe(200);
    const [entry] = await audit('team.set');
    const [session] = (await browser.send('GET', '/api/browser-sessions'))
      .json()
      .sessions.filter((one: { isCurrent: boolean }) => one.isCurrent);
    expect(entry.actor).toMatchObject({ person: 'Ann Lee', via: 'console', sessionId: session.id });
    expect(entry.actor.personId).toBe((await browser.me()).body.person.id);
  });

  it('is one person for each subject, however often and with any e-mail', async () => {
    const first = new Browser();
    await first.signIn('ben');
    accounts.ben = { ...accounts.ben, email: 'ann@example.com', email_verified: true };
    const second = new Browser();
    await second.signIn('ben');
    const [ann, ben] = [new Browser(), await second.me()];
    await ann.signIn('ann');
    expect(ben.body.person.id).toBe((await first.me()).body.person.id);
    expect(ben.body.person.id).not.toBe((await ann.me()).body.person.id);
  });

  it('is fresh only if the provider says when it asked for credentials', async () => {
    const askedAt = async () => {
      const owner = new pg.Client({ connectionString: api.databaseUrl });
      await owner.connect();
      const { rows } = await owner.query<{ at: Date | null }>(
        `select signed_in_at as at from api_keys where person_id is not null order by created_at desc limit 1`,
      );
      await owner.end();
      return rows[0]?.at;
    };
    // The provider may have known the browser for hours.
    await new Browser().signIn('ann');
    expect(await askedAt()).toBeNull();
    await new Browser().signIn('ann', '?fresh=true');
    expect(await askedAt()).not.toBeNull();
  });

  it('works with 200 groups', async () => {
    const browser = new Browser();
    await browser.signIn('many');
    expect((await browser.me()).body.scopes).toEqual(['read', 'review']);
  });

  it('works in two tabs at once', async () => {
    const browser = new Browser();
    const [one, two] = [await browser.start(), await browser.start()];
    for (const url of [one, two]) {
      const returned = await provider.signIn(url, 'ben');
      const answer = await browser.send('GET', `${returned.pathname}${returned.search}`);
      expect(answer.statusCode).toBe(302);
      const code = String(answer.headers.location).split('#code=')[1] ?? '';
      expect((await browser.exchange(code)).statusCode).toBe(200);
    }
  });

  it('keeps at most five attempts of a browser', async () => {
    const browser = new Browser();
    for (let n = 0; n < 8; n++) await browser.start();
    expect([...browser.cookies.keys()].filter((name) => name.startsWith('agentlens_signin_'))).toHaveLength(5);
  });

  it('works at once after the provider has rotated its keys', async () => {
    const { port } = provider;
    await provider.close();
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(privateKey)), kid: 'second', use: 'sig', alg: 'RS256' };
    provider = await startProvider({ redirectUri: REDIRECT, accounts, port, jwks: { keys: [jwk] } });
    const browser = new Browser();
    expect((await browser.signIn('ben')).statusCode).toBe(200);
  });
});

describe('a sign-in that is refused', () => {
  const refusal = async (subject: string) => {
    const answer = await new Browser().callback(subject);
    return { status: answer.statusCode, page: answer.body };
  };

  it('says which claims were looked at if no group gives a role, and lets an administrator help', async () => {
    const { status, page } = await refusal('cem');
    expect(status).toBe(403);
    expect(page).toContain('You are in none of the groups that may use AgentLens');
    expect(page).toContain('<code>groups</code>');
    const { people } = (await api.get('/api/people')).body;
    const cem = people.find(({ name }: { name: string }) => name === 'Cem');
    expect((await api.call('PATCH', `/api/people/${cem.id}`, { body: { grants: [{ role: 'viewer' }] } })).status).toBe(
      200,
    );
    const browser = new Browser();
    await browser.signIn('cem');
    expect((await browser.me()).body.scopes).toEqual(['read']);
  });

  it('names the remedy if the provider left the groups out', async () => {
    const { status, page } = await refusal('over');
    expect([status, page]).toEqual([403, expect.stringContaining('you are in more than 200')]);
    expect(page).toContain('Use app roles');
    expect((await audit('session.refused'))[0].after.because).toContain('more than 200');
  });

  it('names the claim that has more than 2,000 entries', async () => {
    const { status, page } = await refusal('crowd');
    expect([status, page]).toEqual([403, expect.stringContaining('more than 2,000 entries')]);
    expect(page).toContain('<code>groups</code>');
  });

  const disturbed: Record<string, (url: URL) => void> = {
    'another state': (url) => url.searchParams.set('state', 'x'.repeat(43)),
    'no state': (url) => url.searchParams.delete('state'),
    'a code that was never issued': (url) => url.searchParams.set('code', 'nonsense'),
    'the issuer of another provider': (url) => url.searchParams.set('iss', 'https://evil.example.com'),
    'no issuer, though the provider announces that it sends it': (url) => url.searchParams.delete('iss'),
    'two codes': (url) => url.searchParams.append('code', 'second'),
    'an error of the provider': (url) => {
      url.searchParams.delete('code');
      url.searchParams.set('error', 'access_denied');
      url.searchParams.set('error_description', '<img src=x onerror=alert(1)>');
    },
  };

  it.each(Object.entries(disturbed))('comes from a callback with %s', async (_, disturb) => {
    const browser = new Browser();
    const returned = await provider.signIn(await browser.start(), 'ann');
    disturb(returned);
    const answer = await browser.send('GET', `${returned.pathname}${returned.search}`);
    expect([400, 403]).toContain(answer.statusCode);
    expect(answer.body).not.toContain('<img');
    expect(String(answer.headers['content-security-policy'])).toContain("default-src 'none'");
    expect(browser.cookies.has('agentlens_session')).toBe(false);
  });

  it('is recorded up to a rate, because anyone can be refused', async () => {
    const { body } = await api.call('POST', '/api/identity-providers', { body: draft({ name: 'Other' }) });
    const browser = new Browser();
    const state = new URL(await browser.start(body.id)).searchParams.get('state');
    for (let tries = 0; tries < 30; tries++) {
      const answer = await browser.send(
        'GET',
        `/api/auth/oidc/callback?error=access_denied&state=${state}&iss=${provider.issuer}`,
      );
      expect(answer.statusCode).toBe(403);
    }
    const { entries } = (await api.get('/api/audit?kind=session.refused&limit=200')).body;
    expect(entries.filter(({ targetId }: { targetId: string }) => targetId === body.id)).toHaveLength(20);
    await api.call('DELETE', `/api/identity-providers/${body.id}`);
  });

  it('names both issuers if the provider is another one than its address says', async () => {
    const other = await startProvider({ redirectUri: REDIRECT, accounts, names: (address) => `${address}/realm` });
    const address = other.issuer.replace('/realm', '');
    try {
      const made = await api.call('POST', '/api/identity-providers', { body: draft({ issuer: address }) });
      const tested = await api.call('POST', `/api/identity-providers/${made.body.id}/test`);
      expect(tested.body.error).toBe(
        `The issuer in the discovery document is not the configured issuer: the document says ${other.issuer}, the setting ${address}/`,
      );
      await api.call('DELETE', `/api/identity-providers/${made.body.id}`);
    } finally {
      await other.close();
    }
  });

  it('names both clocks if the ID token has expired before it arrived', async () => {
    const { port } = provider;
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const header = { kid: 'slow', alg: 'RS256' };
    const jwks = { keys: [{ ...(await exportJWK(privateKey)), ...header, use: 'sig' }] };
    const HOURS_2 = 7_200;
    const alter = (idToken: string) => {
      const { iat = 0, exp = 0, ...claims } = decodeJwt(idToken);
      const slow = { ...claims, iat: iat - HOURS_2, exp: exp - HOURS_2 };
      return new SignJWT(slow).setProtectedHeader(header).sign(privateKey);
    };
    await provider.close();
    provider = await startProvider({ redirectUri: REDIRECT, accounts, port, jwks, alter });
    try {
      const { status, page } = await refusal('ann');
      expect(status).toBe(403);
      expect(page).toMatch(/clocks of provider and platform differ: it is 20\S+Z at the provider, and 20\S+Z here/);
    } finally {
      await provider.close();
      provider = await startProvider({ redirectUri: REDIRECT, accounts, port });
    }
  });

  it('comes from a callback in another browser, and from one used twice', async () => {
    const browser = new Browser();
    const returned = await provider.signIn(await browser.start(), 'ann');
    const path = `${returned.pathname}${returned.search}`;
    expect((await new Browser().send('GET', path)).statusCode).toBe(400);
    expect((await browser.send('GET', path)).statusCode).toBe(302);
    expect((await browser.send('GET', path)).statusCode).toBe(403);
  });

  it('comes from a sign-in code in another browser, or a code used twice', async () => {
    const browser = new Browser();
    const location = String((await browser.callback('ann')).headers.location);
    const code = location.split('#code=')[1] ?? '';
    const stolen = await new Browser().exchange(code);
    expect([stolen.statusCode, stolen.json().error]).toEqual([401, 'This sign-in was started in another browser']);
    expect((await browser.exchange(code)).statusCode).toBe(200);
    expect((await browser.exchange(code)).statusCode).toBe(401);
  });

  it('says that the provider does not answer, and leaves keys and sessions alone', async () => {
    const signedIn = new Browser();
    await signedIn.signIn('ann');
    const browser = new Browser();
    const returned = await provider.signIn(await browser.start(), 'ann');
    const { port } = provider;
    await provider.close();
    const answer = await browser.send('GET', `${returned.pathname}${returned.search}`);
    expect([answer.statusCode, answer.body]).toEqual([503, expect.stringContaining('break-glass')]);
    expect((await signedIn.me()).status).toBe(200);
    expect((await api.get('/api/me')).status).toBe(200);
    provider = await startProvider({ redirectUri: REDIRECT, accounts, port });
  });

  it.each(['https://evil.example.com', '//evil.example.com', '/\\evil.example.com', 'javascript:alert(1)', '/%0a//x'])(
    'never returns to another host: %s',
    async (returnTo) => {
      const answer = await new Browser().signIn('ann', `?returnTo=${encodeURIComponent(returnTo)}`);
      expect(new URL(answer.json().returnTo, CONSOLE).origin).toBe(CONSOLE);
    },
  );
});

describe('the rights of a person', () => {
  it('end with the group at the next sign-in, for sessions that are open too', async () => {
    accounts.dia = { name: 'Dia', groups: ['/finance', '/admins'] };
    const [old, other] = [new Browser(), new Browser()];
    await old.signIn('dia');
    expect((await old.me()).body.scopes).toContain('admin');
    accounts.dia = { name: 'Dia', groups: ['/finance'] };
    await other.signIn('dia');
    for (const browser of [old, other]) expect((await browser.me()).body.scopes).toEqual(['read', 'review']);
  });

  it('end when an administrator disables the person, everywhere, also those of personal keys', async () => {
    const browser = new Browser();
    await browser.signIn('ben');
    const { key } = (await browser.send('POST', '/api/me/keys', { name: 'laptop' })).json();
    const { id } = (await browser.me()).body.person;
    expect((await api.get('/api/me', key)).body).toMatchObject({
      person: { name: 'Ben', via: 'cli' },
      scopes: ['read', 'review'],
    });
    expect((await api.call('PATCH', `/api/people/${id}`, { body: { state: 'disabled' } })).status).toBe(200);
    expect((await browser.me()).status).toBe(401);
    expect((await api.get('/api/me', key)).status).toBe(401);
    expect((await new Browser().callback('ben')).body).toContain('disabled');
    await api.call('PATCH', `/api/people/${id}`, { body: { state: 'active' } });
  });

  it('of a personal key are never more than those of the person, and it makes no other key', async () => {
    const browser = new Browser();
    await browser.signIn('ben');
    const made = await browser.send('POST', '/api/me/keys', { name: 'too much', scopes: ['read', 'admin'] });
    const { key } = made.json();
    expect((await api.get('/api/me', key)).body.scopes).toEqual(['read']);
    expect((await api.call('POST', '/api/me/keys', { key, body: { name: 'more' } })).status).toBe(403);
    expect((await api.call('POST', '/api/session/codes', { key })).status).toBe(403);
  });

  it('reach a program through a login that the person confirms, once, and only by the secret of that program', async () => {
    const browser = new Browser();
    await browser.signIn('ann');
    const verifier = randomBytes(32).toString('base64url');
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const collect = (secret: string) => api.call('POST', '/api/login', { body: { verifier: secret }, key: '' });
    expect(await collect(verifier)).toMatchObject({ status: 200, body: { status: 'pending' } });
    const confirm = () => browser.send('POST', '/api/me/logins', { challenge, name: 'laptop', via: 'cli' });
    expect((await confirm()).json()).toEqual({ confirmed: true });
    expect((await confirm()).statusCode).toBe(409);
    // The challenge is in the address of the page; it collects nothing.
    expect((await collect(challenge)).body).toEqual({ status: 'pending' });
    const collected = await collect(verifier);
    expect(collected.body).toMatchObject({ status: 'confirmed', person: 'Ann Lee', via: 'cli' });
    expect(await collect(verifier)).toMatchObject({ status: 410 });
    const me = await api.call('GET', '/api/me', { key: collected.body.key });
    expect(me.body).toMatchObject({ scopes: ['read', 'review'], person: { name: 'Ann Lee', via: 'cli' } });

    const late = randomBytes(32).toString('base64url');
    const lateChallenge = createHash('sha256').update(late).digest('base64url');
    await browser.send('POST', '/api/me/logins', { challenge: lateChallenge, name: 'laptop' });
    api.clock.advance(5 * 60_000);
    expect(await collect(late)).toMatchObject({ status: 410 });
    // A key of a program, or a personal key, confirms nothing.
    const other = { challenge: randomBytes(32).toString('base64url'), name: 'other' };
    for (const key of [undefined, collected.body.key])
      expect((await api.call('POST', '/api/me/logins', { body: other, ...(key && { key }) })).status).toBe(403);
    await browser.send('DELETE', `/api/me/keys/${collected.body.key.split('_')[1]}`);
  });

  it('ends all browsers of the person at once, and the personal keys only if asked', async () => {
    const [one, two] = [new Browser(), new Browser()];
    await one.signIn('ann');
    await two.signIn('ann');
    const made = (await one.send('POST', '/api/me/keys', { name: 'script', via: 'api' })).json();
    expect((await one.send('POST', '/api/me/end-sessions', {})).json().ended).toBeGreaterThanOrEqual(2);
    expect([(await one.me()).status, (await two.me()).status]).toEqual([401, 401]);
    expect((await api.call('GET', '/api/me', { key: made.key })).status).toBe(200);
    await one.signIn('ann');
    await one.send('POST', '/api/me/end-sessions', { personalKeys: true });
    expect((await api.call('GET', '/api/me', { key: made.key })).status).toBe(401);
  });

  it('are out of reach for administrators who would act as another person', async () => {
    const browser = new Browser();
    await browser.signIn('ben');
    const { id } = (await browser.send('POST', '/api/me/keys', { name: 'mine' })).json();
    expect((await api.call('POST', `/api/keys/${id}/rotate`)).status).toBe(404);
    expect((await api.get('/api/keys')).body.keys.map((one: { id: string }) => one.id)).not.toContain(id);
  });

  it('end after the hours of the session, after the idle time, and seven days after the last sign-in', async () => {
    const browser = new Browser();
    await browser.signIn('ann');
    const { key } = (await browser.send('POST', '/api/me/keys', { name: 'laptop', days: 30 })).json();
    api.clock.advance(7 * HOUR_MS);
    expect((await browser.me()).status).toBe(200);
    api.clock.advance(9 * HOUR_MS);
    expect((await browser.me()).status).toBe(401);
    expect((await api.get('/api/me', key)).status).toBe(200);
    api.clock.advance(7 * DAY_MS);
    const ended = await api.get('/api/me', key);
    expect([ended.status, ended.body.error]).toEqual([401, 'You have no role any more']);
  });

  it('can be taken from the last person while the tenant has an admin key, and only by its own keys', async () => {
    const browser = new Browser();
    await browser.signIn('ann');
    const { id } = (await browser.me()).body.person;
    await api.insert('tenants', { id: 'solo', name: 'solo', created_at: '2026-01-01T00:00:00Z' });
    await api.insert('people', {
      tenant_id: 'solo',
      person_id: 'only',
      name: 'Only',
      created_at: '2026-01-01T00:00:00Z',
    });
    await api.insert('person_grants', { tenant_id: 'solo', person_id: 'only', role: 'admin', source: 'manual' });
    const solo = await api.newKey(['admin'], 'solo');
    expect((await api.call('PATCH', '/api/people/only', { key: solo.key, body: { grants: [] } })).status).toBe(200);
    expect((await api.call('PATCH', `/api/people/${id}`, { key: solo.key, body: { state: 'disabled' } })).status).toBe(
      404,
    );
  });

  it('are not taken from the last administrator of a tenant that has no admin key', async () => {
    const at = '2026-01-01T00:00:00Z';
    const own = newApiKey('person');
    await api.insert('tenants', { id: 'lone', name: 'lone', created_at: at });
    await api.insert('people', { tenant_id: 'lone', person_id: 'only', name: 'Only', created_at: at });
    await api.insert('person_grants', { tenant_id: 'lone', person_id: 'only', role: 'admin', source: 'manual' });
    await api.insert('api_keys', {
      ...{
        tenant_id: 'lone',
        key_id: own.id,
        name: 'Only',
        secret_hash: apiKeyHash(own.key),
        scopes: ['read', 'admin'],
      },
      ...{ person_id: 'only', via: 'console', created_at: at, signed_in_at: at, expires_at: '2036-01-01T00:00:00Z' },
    });
    for (const body of [{ state: 'disabled' }, { grants: [] }, { grants: [{ role: 'operator' }] }]) {
      expect(await api.call('PATCH', '/api/people/only', { key: own.key, body })).toMatchObject({
        ...{ status: 409, body: { error: 'This is the last administrator of the tenant' } },
      });
    }
    expect((await api.get('/api/me', own.key)).body.scopes).toContain('admin');
  });
});

describe('required single sign-on', () => {
  it('needs a proof: a fresh sign-in of an administrator and a break-glass key', async () => {
    const required = { ...draft(), clientSecret: undefined, required: true };
    const update = (browser: Browser) => browser.send('PUT', `/api/identity-providers/${providerId}`, required);
    expect((await api.call('PUT', `/api/identity-providers/${providerId}`, { body: required })).body.code).toBe(
      'not_proven',
    );
    const browser = new Browser();
    await browser.signIn('ann');
    expect((await update(browser)).json().code).toBe('not_proven');
    const made = await api.call('POST', '/api/keys', { body: { name: 'safe', scopes: ['admin'], breakGlass: true } });
    expect((await update(browser)).statusCode).toBe(200);
    expect((await api.get('/api/sign-in?tenant=acme')).body).toEqual({
      providers: [{ id: providerId, name: 'Acme login' }],
      keys: 'break_glass',
    });
    expect((await new Browser().send('POST', '/api/session', { key: api.keys.admin.key })).json().code).toBe(
      'single_sign_on_required',
    );
    const rescue = await new Browser().send('POST', '/api/session', { key: made.body.key });
    expect([rescue.statusCode, [rescue.headers['set-cookie']].flat().join()]).toEqual([
      200,
      expect.stringContaining('Max-Age=3600;'),
    ]);
    expect((await api.get('/api/me')).status).toBe(200);
    await browser.send('PUT', `/api/identity-providers/${providerId}`, { ...required, required: false });
  });
});

describe('a break-glass key', () => {
  const signIn = async (name: string) => {
    const { key } = (await api.call('POST', '/api/keys', { body: { name, scopes: ['admin'], breakGlass: true } })).body;
    return new Browser().send('POST', '/api/session', { key });
  };

  it('raises a critical alert and is in the audit, each time it signs in', async () => {
    const raised: object[] = [];
    const serving = await api.bus.serve(COMMANDS.raiseAlert, async (alert) => {
      raised.push(alert);
      return granted({ ...alert, id: 'alert-1', status: 'pending' as const, createdAt: NOW, version: 1 });
    });
    expect((await signIn('safe 1')).statusCode).toBe(200);
    expect((await new Browser().send('POST', '/api/session', { key: api.keys.admin.key })).statusCode).toBe(200);
    expect(raised).toMatchObject([
      { tenantId: 'acme', kind: 'security', severity: 'critical', message: expect.stringContaining('safe 1') },
    ]);
    expect((await audit('session.started'))[0]).toMatchObject({
      ...{ after: { breakGlass: true }, actor: { keyName: 'safe 1' } },
    });
    await serving.close();
  });

  it('signs in also while no service takes the alert', async () => {
    expect((await signIn('safe 2')).statusCode).toBe(200);
  });
});

describe('the provider of the environment', () => {
  it('signs people of the tenant "default" in, makes its group administrators, and cannot be changed', async () => {
    const own = await startOperatorApi(undefined, {
      ...{ AGENTLENS_PUBLIC_URL: CONSOLE, AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' },
      ...{ AGENTLENS_OIDC_ISSUER: provider.issuer, AGENTLENS_OIDC_CLIENT_ID: 'agentlens' },
      ...{ AGENTLENS_OIDC_CLIENT_SECRET: 'client secret', AGENTLENS_OIDC_ADMIN_GROUP: '/admins' },
    });
    const acme = api;
    api = own;
    try {
      await own.insert('tenants', { id: 'default', name: 'default', created_at: NOW });
      const { key } = await own.newKey(['admin'], 'default');
      const [listed] = (await own.get('/api/identity-providers', key)).body.providers;
      expect(listed).toMatchObject({ id: 'environment', issuer: provider.issuer, readOnly: true });
      expect((await own.get('/api/identity-providers')).body.providers).toEqual([]);
      const changed = await own.call('PUT', '/api/identity-providers/environment', { key, body: draft() });
      expect([changed.status, changed.body.error]).toEqual([409, expect.any(String)]);

      const ann = new Browser();
      const returned = await provider.signIn(await ann.start('environment'), 'ann');
      const { headers } = await ann.send('GET', `${returned.pathname}${returned.search}`);
      await ann.exchange(String(headers.location).replace('/sign-in#code=', ''));
      expect((await ann.me()).body).toMatchObject({
        tenantId: 'default',
        ...{ person: { name: 'Ann Lee' }, scopes: expect.arrayContaining(['admin']) },
      });
      const ben = new Browser();
      const refused = await provider.signIn(await ben.start('environment'), 'ben');
      expect((await ben.send('GET', `${refused.pathname}${refused.search}`)).statusCode).toBe(403);
    } finally {
      api = acme;
      await own.close();
    }
  });
});

describe('the settings of a provider', () => {
  const create = (change: object) => api.call('POST', '/api/identity-providers', { body: draft(change) });

  it('never show the secret', async () => {
    const { providers } = (await api.get('/api/identity-providers')).body;
    expect(JSON.stringify(providers)).not.toContain('client secret');
    expect(providers[0]).toMatchObject({ hasSecret: true, readOnly: false, redirectUri: REDIRECT });
    expect(JSON.stringify(await audit('provider.created'))).not.toContain('client secret');
  });

  it('send the stored secret to no other issuer', async () => {
    const path = `/api/identity-providers/${(await create({ name: 'Moving' })).body.id}`;
    const issuer = 'https://login.example.com';
    const moved = { ...draft({ name: 'Moving', issuer }), clientSecret: undefined };
    const refused = await api.call('PUT', path, { body: moved });
    expect(refused).toMatchObject({ status: 422, body: { details: [{ path: 'clientSecret' }] } });
    expect((await api.call('PUT', path, { body: { ...moved, clientSecret: 'new' } })).status).toBe(200);
    expect((await api.call('DELETE', path)).status).toBe(200);
  });

  it.each([
    [
      'the address of a discovery document',
      { issuer: 'https://login.example.com/.well-known/openid-configuration' },
      400,
    ],
    ['an issuer of every Entra tenant', { issuer: 'https://login.microsoftonline.com/common/v2.0' }, 400],
    ['a role that does not exist', { mapping: [{ claim: 'groups', is: 'x', role: 'root' }] }, 400],
    ['a team that does not exist', { mapping: [{ claim: 'groups', is: 'x', team: 'ghosts' }] }, 422],
    ['an address inside the network of the platform', { issuer: 'http://169.254.169.254/latest' }, 422],
  ])('are refused with %s', async (_, change, status) => {
    expect((await create(change)).status).toBe(status);
  });

  it('belong to one tenant', async () => {
    const foreign = { key: api.keys.foreign.key };
    expect((await api.get('/api/identity-providers', foreign.key)).body.providers).toEqual([]);
    expect((await api.call('POST', `/api/identity-providers/${providerId}/test`, foreign)).status).toBe(404);
    expect((await api.call('DELETE', `/api/identity-providers/${providerId}`, foreign)).status).toBe(404);
    expect((await api.get('/api/people', foreign.key)).body.people).toEqual([]);
    expect((await api.get('/api/teams', foreign.key)).body.teams).toEqual([]);
    expect((await api.call('DELETE', '/api/teams/finance', foreign)).status).toBe(404);
    expect((await api.call('PUT', '/api/teams/finance', { ...foreign, body: { name: 'Theirs' } })).status).toBe(200);
    expect((await api.get('/api/teams')).body.teams).toMatchObject([{ id: 'finance', name: 'Finance' }]);
    const own = await api.get('/api/identity-providers');
    expect(listIdentityProviders.response.parse(own.body)).toEqual(own.body);
    expect(listPeople.response.parse((await api.get('/api/people')).body).people.length).toBeGreaterThan(0);
  });

  it('can be tested: the page lists the claims and what they give, and changes nothing', async () => {
    const browser = new Browser();
    await browser.signIn('ann');
    const before = (await audit('session.started')).length;
    const { url } = (await browser.send('POST', `/api/identity-providers/${providerId}/test`)).json();
    const returned = await provider.signIn(url, 'ann');
    const page = await browser.send('GET', `${returned.pathname}${returned.search}`);
    expect([page.statusCode, page.body]).toEqual([200, expect.stringContaining('role approver')]);
    expect(page.body).toContain('ann@example.com');
    expect((await audit('session.started')).length).toBe(before);
  });
});

describe('back-channel logout', () => {
  it('ends the sessions of the subject, once for each token, and refuses ID tokens and foreign tokens', async () => {
    const { port } = provider;
    await provider.close();
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(privateKey)), kid: 'logout', use: 'sig', alg: 'RS256' };
    provider = await startProvider({ redirectUri: REDIRECT, accounts, port, jwks: { keys: [jwk] } });
    const token = (payload: object) =>
      new SignJWT({ iss: provider.issuer, aud: 'agentlens', sub: 'ann', ...payload })
        .setProtectedHeader({ alg: 'RS256', kid: 'logout', typ: 'logout+jwt' })
        .setIssuedAt()
        .setExpirationTime('2m')
        .sign(privateKey);
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const post = async (payload: object, id = providerId) => {
      const body = new URLSearchParams({ logout_token: await token(payload) }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const answer = await api.app.inject({
        method: 'POST',
        url: `/api/auth/oidc/${id}/logout`,
        headers,
        payload: body,
      });
      return { status: answer.statusCode, ended: answer.json().ended };
    };
    const [ann, ben] = [new Browser(), new Browser()];
    await ann.signIn('ann');
    await ben.signIn('ben');
    const readsBefore = provider.keyReads();
    for (const wrong of [
      { jti: 'a' },
      { jti: 'b', events, nonce: 'n' },
      { jti: 'c', events, aud: 'other' },
      { jti: 'd', events, iss: 'https://x.example' },
      { events },
    ]) {
      expect(await post(wrong)).toMatchObject({ status: 400 });
    }
    expect(provider.keyReads()).toBe(readsBefore + 1);
    expect((await ann.me()).status).toBe(200);
    const { ended, status } = await post({ jti: 'e', events });
    expect([status, ended > 0]).toEqual([200, true]);
    expect([(await ann.me()).status, (await ben.me()).status]).toEqual([401, 200]);
    await ann.signIn('ann');
    expect(await post({ jti: 'e', events })).toEqual({ status: 200, ended: 0 });
    expect((await ann.me()).status).toBe(200);
    // The ID token of this provider named no session.
    expect(await post({ jti: 'g', events, sid: 'unheard-of', sub: undefined })).toEqual({ status: 200, ended: 0 });
    expect(await post({ jti: 'h', events, sid: 'unheard-of' })).toEqual({ status: 200, ended: 1 });
    expect((await ann.me()).status).toBe(401);
    const [entry] = await audit('session.ended');
    expect(entry.after).toEqual({ ended: 1, by: 'the identity provider' });
    expect((await post({ jti: 'f', events }, 'unknown')).status).toBe(404);
  });

  it('is the only route that takes a form', async () => {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Bearer ${api.keys.admin.key}`,
    };
    const answer = await api.app.inject({ method: 'POST', url: '/api/keys', headers, payload: 'name=x' });
    expect(answer.statusCode).toBe(415);
  });
});
