import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';
import { ProfileStore } from './profiles.ts';

const ME = { tenantId: 'acme', keyName: 'ops', scopes: ['read', 'review'], version: '1.2.3' };

describe('profiles', () => {
  let home: string;
  let store: ProfileStore;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'agentlens-cli-'));
    store = new ProfileStore({ HOME: home });
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const withHome = (more = {}) => ({ HOME: home, AGENTLENS_API_KEY: '', ...more });
  const login = (words: readonly string[] = [], stdin = 'agk_live_secret\n') =>
    runCli(['login', ...words], { env: withHome(), stdin, answer: () => ME });

  it('are stored in a file that only the user can read, in its own folder', async () => {
    const { exitCode, stdout, stderr, requests } = await login();
    expect(exitCode).toBe(0);
    expect(stdout).toContain('tenant acme');
    expect(stdout + stderr).not.toContain('agk_live_secret');
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer agk_live_secret');
    expect(statSync(store.file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(store.file)).mode & 0o777).toBe(0o700);
    expect(store.read()).toEqual({
      current: 'default',
      profiles: { default: { url: 'http://platform.test', key: 'agk_live_secret' } },
    });
  });

  it('do not store a key that the platform rejects', async () => {
    const answer = () => Response.json({ error: 'Invalid API key', status: 401 }, { status: 401 });
    const { exitCode } = await runCli(['login'], { env: withHome(), stdin: 'agk_live_wrong', answer });
    expect(exitCode).toBe(4);
    expect(store.read()).toEqual({ profiles: {} });
  });

  it('are used by later commands until removed', async () => {
    await login();
    const env = withHome({ AGENTLENS_URL: '' });
    const listing = await runCli(['runs', 'list'], { env, answer: () => ({ runs: [], hasMore: false }) });
    expect(listing.requests[0]?.headers.get('authorization')).toBe('Bearer agk_live_secret');
    expect((await runCli(['logout'], { env, answer: () => ME })).exitCode).toBe(0);
    expect((await runCli(['runs', 'list'], { env })).exitCode).toBe(4);
  });

  describe('of a person', () => {
    const person = { id: 'p', name: 'Ann Lee', via: 'cli', signedInAt: '', grants: [{ role: 'approver' }], teams: [] };
    const mine = { ...ME, keyId: 'k-1', person };

    it('are removed together with the personal key', async () => {
      await login();
      const { exitCode, stderr, requests } = await runCli(['logout'], { env: withHome(), answer: () => mine });
      expect(exitCode).toBe(0);
      expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'GET /api/me',
        'DELETE /api/me/keys/k-1',
      ]);
      expect(requests[1]?.headers.get('authorization')).toBe('Bearer agk_live_secret');
      expect(stderr).toContain('revoked');
      expect(store.read().profiles).toEqual({});
    });

    it('stay while the key cannot be revoked, unless only the profile is to go', async () => {
      await login();
      const answer = () => {
        throw new TypeError('fetch failed');
      };
      const { exitCode, stderr } = await runCli(['logout'], { env: withHome(), answer });
      expect(exitCode).not.toBe(0);
      expect(stderr).toContain('agentlens logout --local');
      expect(Object.keys(store.read().profiles)).toEqual(['default']);
      const local = await runCli(['logout', '--local'], { env: withHome(), answer });
      expect([local.exitCode, local.requests.length]).toEqual([0, 0]);
      expect(store.read().profiles).toEqual({});
    });

    it('say who the person is', async () => {
      const { stdout } = await runCli(['whoami'], { answer: () => mine });
      expect(stdout).toContain('Ann Lee, cli');
      expect(stdout).toContain('approver');
      expect((await runCli(['whoami'], { answer: () => ME })).stdout).toMatch(/Key +ops/);
    });
  });

  it('are listed without keys, with the current one marked', async () => {
    await login(['staging']);
    await login(['prod']);
    const { stdout } = await runCli(['profiles', 'list', '--json'], { env: withHome() });
    expect(JSON.parse(stdout)).toEqual([
      { name: 'staging', url: 'http://platform.test', current: false },
      { name: 'prod', url: 'http://platform.test', current: true },
    ]);
    await runCli(['profiles', 'use', 'staging'], { env: withHome() });
    expect(store.read().current).toBe('staging');
  });

  it('are rejected if other users can read them, with the command that fixes it', async () => {
    await login();
    chmodSync(store.file, 0o644);
    const { exitCode, stderr } = await runCli(['profiles', 'list'], { env: withHome() });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`chmod 600 ${store.file}`);
  });

  it('name a file with invalid JSON', async () => {
    await login();
    writeFileSync(store.file, '{', { mode: 0o600 });
    const { exitCode, stderr } = await runCli(['profiles', 'list'], { env: withHome() });
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${store.file} is not JSON`);
    expect(readFileSync(store.file, 'utf8')).toBe('{');
  });

  it('can be selected by a project file, which may contain nothing else', async () => {
    await login(['staging'], 'agk_live_staging');
    await login(['prod'], 'agk_live_prod');
    writeFileSync(join(home, '.agentlens.json'), '{"profile": "staging"}');
    const env = withHome({ AGENTLENS_URL: '' });
    const folder = join(home, 'deeper');
    const listing = await runCli(['runs', 'list'], { env, folder, answer: () => ({ runs: [], hasMore: false }) });
    expect(listing.requests[0]?.headers.get('authorization')).toBe('Bearer agk_live_staging');
    writeFileSync(join(home, '.agentlens.json'), '{"url": "https://evil.example"}');
    const { exitCode, stderr } = await runCli(['runs', 'list'], { env, folder });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('"url" is not allowed');
  });
});
