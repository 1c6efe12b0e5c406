import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type RealProvider, startProvider } from '../../query/test/real-provider.ts';
import { Client } from './support/client.ts';
import { startDistributed } from './support/distributed.ts';
import { InstalledCli } from './support/installed-cli.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

const CONSOLE = 'http://console.test';
const REDIRECT = `${CONSOLE}/api/auth/oidc/callback`;
const MAPPING = [
  { claim: 'groups', is: 'finance', role: 'approver' },
  { claim: 'groups', is: 'finance', team: 'finance' },
  { claim: 'groups', is: 'reviewers', role: 'approver' },
];

/** A browser of the console: it keeps cookies and proves with every change that a page of the console made it. */
class Browser {
  readonly #address: string;
  readonly #cookies = new Map<string, string>();
  #pageSecret = '';

  constructor(address: string) {
    this.#address = address;
  }

  async send(method: string, path: string, body?: unknown) {
    const answer = await fetch(`${this.#address}${path}`, {
      ...{ method, redirect: 'manual' },
      headers: {
        ...{ cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '), origin: this.#address },
        ...{ 'x-agentlens-page': this.#pageSecret, 'content-type': 'application/json' },
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: answer.status,
      location: answer.headers.get('location') ?? '',
      body: isJson ? JSON.parse(text) : text,
    };
  }

  /** Goes to the provider and back. A refused sign-in ends at a page that says why. */
  async callback(provider: RealProvider, providerId: string, subject: string) {
    const started = await this.send('GET', `/api/auth/oidc/${providerId}/start`);
    const returned = await provider.signIn(started.location, subject);
    return this.send('GET', `${returned.pathname}${returned.search}`);
  }

  async signIn(provider: RealProvider, providerId: string, subject: string): Promise<void> {
    const { location } = await this.callback(provider, providerId, subject);
    const code = location.slice(location.indexOf('#code=') + '#code='.length);
    const { status, body } = await this.send('POST', '/api/session', { code });
    expect(status).toBe(200);
    this.#pageSecret = body.pageSecret;
  }
}

describe('people of a real provider, with every service on its own', () => {
  let platform: PlatformUnderTest;
  let provider: RealProvider;
  let providerId: string;
  let admin: Client;
  let agent: Client;
  let cli: InstalledCli;
  const accounts: Record<string, Record<string, unknown>> = {
    ann: { name: 'Ann Lee', groups: ['finance'] },
    ben: { name: 'Ben', groups: ['finance'] },
    eve: { name: 'Eve', groups: ['reviewers'] },
  };

  beforeAll(async () => {
    // The provider warns that it is set up for development.
    for (const level of ['info', 'warn'] as const) jest.spyOn(console, level).mockImplementation(() => undefined);
    provider = await startProvider({ redirectUri: REDIRECT, accounts });
    cli = await InstalledCli.install(await mkdtemp(join(tmpdir(), 'agentlens-people-')));
    platform = await startDistributed({ env: { AGENTLENS_PUBLIC_URL: CONSOLE }, evaluators: 1 });
    admin = new Client(platform, (await platform.keyOf('acme', 'admin')).key);
    agent = new Client(platform, (await platform.keyOf('acme', 'ingest', 'decide')).key);
    const done = async (answer: Promise<{ status: number; body: unknown }>) => {
      const { status, body } = await answer;
      if (status >= 300) throw new Error(JSON.stringify(body));
      return body as { id: string };
    };
    await done(admin.put('/api/teams/finance', { name: 'Finance', agents: [] }));
    const draft = { name: 'Acme login', issuer: provider.issuer, clientId: 'agentlens', clientSecret: 'client secret' };
    providerId = (await done(admin.post('/api/identity-providers', { ...draft, mapping: MAPPING }))).id;
    const rule = { name: 'Payments', conditionType: 'tool_name', conditionConfig: { value: 'pay*' } };
    const asks = { actionType: 'require_approval', actionConfig: { title: 'May it pay?' } };
    await done(admin.post('/api/guardrails', { ...rule, ...asks }));
    const two = { name: 'Two of finance', match: { tools: ['pay*'] }, approvers: { teams: ['finance'] }, quorum: 2 };
    await done(admin.put('/api/approval-policies/payments', { policy: two }));
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([1]));
  });
  afterAll(async () => {
    await platform?.stop();
    await provider?.close();
    if (cli !== undefined) await rm(cli.home, { recursive: true, force: true });
  });

  const evaluate = async (runId: string) => {
    const call = {
      phase: 'tool.before',
      agentId: 'payer',
      tool: { name: 'pay_invoice' },
      args: { amount: 10 },
      tags: {},
    };
    const { status, body } = await agent.post(`/v1/runs/${runId}/evaluate`, { ...call, deadlineMs: 2_000 });
    expect(status).toBe(200);
    return body;
  };
  const ask = async (runId: string): Promise<string> => {
    expect(await evaluate(runId)).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'HITL_PENDING' } });
    return (await admin.get(`/api/alerts?kind=approval&runId=${runId}`)).body.alerts[0].id;
  };
  const browser = () => new Browser(platform.addressFor('GET', '/api/me'));
  const personAt = async (subject: string) => {
    const one = browser();
    await one.signIn(provider, providerId, subject);
    return one;
  };

  /** Signs a command line in: the person confirms what the terminal shows. */
  const logIn = async (person: Browser, url: string) => {
    const login = cli.start('login', '--console', '--url', url);
    await login.until(/challenge=[\w-]+/);
    const [, challenge = ''] = /challenge=([\w-]+)/.exec(login.printed) ?? [];
    expect(login.printed).toContain(`the code ${challenge.slice(0, 4)} ${challenge.slice(4, 8)}:`);
    const confirmed = await person.send('POST', '/api/me/logins', { challenge, name: 'cli on laptop', via: 'cli' });
    expect(confirmed).toMatchObject({ status: 200, body: { confirmed: true } });
    expect(await login.end()).toBe(0);
    expect(login.printed).toContain('Confirmed by Ann Lee.');
    const { profiles } = JSON.parse(await readFile(join(cli.home, 'config/agentlens/profiles.json'), 'utf8'));
    return profiles.default.key as string;
  };

  it('sign a command line in, name a deputy there who votes in their place, and revoke its key by signing out', async () => {
    const [ann, ben, eve] = [await personAt('ann'), await personAt('ben'), await personAt('eve')];
    const url = platform.addressFor('GET', '/api/me');
    const key = await logIn(ann, url);
    expect(JSON.parse((await cli.run('whoami', '--json')).stdout)).toMatchObject({
      ...{ tenantId: 'acme', person: { name: 'Ann Lee', via: 'cli' }, scopes: ['read', 'review'] },
    });

    const approval = await ask('run-0');
    // The policy accepts votes of the console only: an agent on Ann's laptop can read her key.
    const refused = await cli.run('approvals', 'approve', approval);
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('does not accept votes this way') });
    expect((await eve.send('POST', `/api/alerts/${approval}/approve`, {})).body.code).toBe('not_named');
    expect(await cli.run('deputies', 'set', 'Eve', '--for', '1d')).toMatchObject({ code: 0 });
    expect((await eve.send('GET', '/api/me/deputies')).body.standsInFor).toMatchObject([{ name: 'Ann Lee' }]);
    expect((await eve.send('POST', `/api/alerts/${approval}/approve`, {})).body.status).toBe('pending');
    expect((await ann.send('POST', `/api/alerts/${approval}/approve`, {})).body.status).toBe('pending');
    expect((await ben.send('POST', `/api/alerts/${approval}/approve`, {})).body).toMatchObject({
      ...{ status: 'approved', decidedBy: expect.stringMatching(/Eve, console for Ann Lee/) },
    });

    expect(await cli.run('logout')).toMatchObject({ code: 0, stderr: expect.stringContaining('revoked') });
    await eventually(async () => expect((await new Client(platform, key).get('/api/me')).status).toBe(401));
    expect((await ann.send('GET', '/api/me/keys')).body.keys).toEqual([]);
    expect((await cli.run('whoami', '--url', url)).code).toBe(4);
  });

  it('approve together what the policy demands two for, and lose every right with the group', async () => {
    const [ann, ben] = [await personAt('ann'), await personAt('ben')];
    const first = await ask('run-1');
    expect(await ann.send('POST', `/api/alerts/${first}/approve`, {})).toMatchObject({
      ...{ status: 200, body: { status: 'pending' } },
    });
    expect(await ask('run-1')).toBe(first);
    expect(await ben.send('POST', `/api/alerts/${first}/approve`, {})).toMatchObject({
      ...{ status: 200, body: { status: 'approved', decidedBy: expect.stringMatching(/Ann Lee.*; Ben/) } },
    });
    expect(await evaluate('run-1')).toMatchObject({ verdict: 'ALLOW' });

    // A second call has Ann's vote, and her terminal has a key of hers.
    const second = await ask('run-2');
    expect((await ann.send('POST', `/api/alerts/${second}/approve`, {})).status).toBe(200);
    const { key } = (await ann.send('POST', '/api/me/keys', { name: 'laptop' })).body;
    const terminal = new Client(platform, key);
    expect((await terminal.get('/api/me')).body).toMatchObject({ scopes: ['read', 'review'] });
    expect((await terminal.post('/v1/runs/run-2/evaluate', {})).status).toBe(403);

    accounts.ann = { name: 'Ann Lee', groups: [] };
    const refused = await browser().callback(provider, providerId, 'ann');
    expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('in none of the groups')]);

    // Query and ingest: the browser that was open, and the key.
    await eventually(async () => expect((await ann.send('GET', '/api/me')).status).toBe(401));
    expect((await ann.send('POST', `/api/alerts/${second}/approve`, {})).status).toBe(401);
    await eventually(async () => expect((await terminal.get('/api/me')).status).toBe(401));
    await eventually(async () => expect((await terminal.post('/v1/runs/run-2/evaluate', {})).status).toBe(401));
    // Dispatcher: the vote that was cast counts no longer.
    expect(await ben.send('POST', `/api/alerts/${second}/approve`, {})).toMatchObject({
      ...{ status: 200, body: { status: 'pending' } },
    });
    expect((await ben.send('GET', `/api/alerts/${second}/votes`)).body).toMatchObject({
      ...{
        needs: 1,
        unreachable: true,
        votes: [{ name: expect.stringContaining('Ann Lee'), counts: false }, { counts: true }],
      },
    });
    expect(await evaluate('run-2')).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'HITL_PENDING' } });
  });
});
