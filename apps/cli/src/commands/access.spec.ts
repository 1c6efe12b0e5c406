import { describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';

const FILE = `
apiVersion: agentlens/v1
policies:
  - id: payments
    name: Payments
    match: { tools: ["pay_*"] }
    approvers: { teams: [finance] }
    quorum: 2
mapping:
  - provider: p-1
    lines: [{ claim: groups, is: admins, role: admin }]
routes:
  routes: [{ id: all, channels: [ops] }]
`;
const POLICY = {
  ...{ name: 'Payments', match: { tools: ['pay_*'], agents: [], rules: [] }, quorum: 2, separation: 'none' },
  ...{ approvers: { teams: ['finance'], people: [], anyone: false }, via: ['console'], mode: 'enforce' },
};
const ROUTES = { routes: [{ id: 'all', match: [], channels: ['ops'], continue: false }], inhibit: [], windows: {} };
const PROVIDER = {
  ...{ id: 'p-1', name: 'Acme', issuer: 'https://login.example.com', clientId: 'a', scopes: 'openid', require: [] },
  ...{ mapping: [{ claim: 'groups', is: 'admins', role: 'admin' }], sessionHours: 12, idleHours: 8, enabled: true },
  ...{ required: false, hasSecret: true, readOnly: false, version: 3 },
};

interface Stored {
  readonly policies?: object[];
  readonly routes?: object | null;
  readonly provider?: object;
}

const cli = (words: string, { policies = [], routes = null, provider = PROVIDER }: Stored = {}, stdin = FILE) =>
  runCli([...words.split(' '), '-'], {
    stdin,
    answer: ({ method, path }) => {
      if (method !== 'GET') return { version: 1 };
      if (path.startsWith('/api/approval-policies')) return { policies };
      if (path.startsWith('/api/identity-providers')) return { providers: [provider] };
      return { version: routes === null ? 0 : 4, savedBy: null, savedAt: null, document: routes, problems: [] };
    },
  });
const stored = (change: object = {}) => ({ id: 'payments', place: 1, version: 7, policy: { ...POLICY, ...change } });

describe('access plan', () => {
  it('shows what the file would make', async () => {
    const { stdout, exitCode } = await cli('access plan --detailed-exitcode');
    expect(stdout).toContain('+ policy payments');
    expect(stdout).toContain('+ routes');
    expect(exitCode).not.toBe(0);
  });

  it('compares with the defaults of the platform, and shows the members that differ', async () => {
    const { stdout } = await cli('access plan', {
      policies: [stored({ quorum: 1 }), { ...stored(), id: 'other', place: 2 }],
      ...{ routes: ROUTES, provider: { ...PROVIDER, mapping: [] } },
    });
    expect(stdout).toContain('~ policy payments: quorum');
    expect(stdout).toContain('~ mapping of Acme: 0 lines become 1');
    expect(stdout).toContain('left unchanged: policy other');
    expect(stdout).not.toContain('routes');
  });

  it.each([
    ['quorum: 2', 'quorum: 9', 'policies.0.quorum'],
    ['apiVersion: agentlens/v1', 'apiVersion: v2', 'apiVersion: must be agentlens/v1'],
    ['channels: [ops]', 'channels: ops', 'routes.routes.0.channels'],
    ['provider: p-1', 'provider: p-9', 'There is no sign-in provider "p-9"'],
    ['mapping:', 'mappings:', 'mappings: is unknown'],
  ])('refuses "%s" as "%s", and names the place', async (from, to, said) => {
    const { stderr, exitCode, requests } = await cli('access plan', {}, FILE.replace(from, to));
    expect([exitCode === 0, stderr]).toEqual([false, expect.stringContaining(said)]);
    expect(requests.every(({ method }) => method === 'GET')).toBe(true);
  });
});

describe('access apply', () => {
  it('writes each change against the version that the plan has seen', async () => {
    const { requests, exitCode } = await cli('access apply --yes', {
      ...{ policies: [stored({ quorum: 1 })], routes: { ...ROUTES, routes: [] } },
    });
    expect(exitCode).toBe(0);
    const written = requests.filter(({ method }) => method === 'PUT');
    expect(written.map(({ path, headers }) => [path, headers.get('if-match')])).toEqual([
      ['/api/approval-policies/payments', '"7"'],
      ['/api/routes', '"4"'],
    ]);
    expect(written[0]?.body).toEqual({ place: 1, policy: POLICY });
  });

  it('writes nothing if nothing differs', async () => {
    const { requests, stdout } = await cli('access apply --yes', { policies: [stored()], routes: ROUTES });
    expect(requests.filter(({ method }) => method !== 'GET')).toEqual([]);
    expect(stdout).toContain('Applied 0 changes.');
  });
});
