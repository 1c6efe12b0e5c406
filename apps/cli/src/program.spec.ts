import { describe, expect, it } from '@jest/globals';
import { refusal, runCli } from './run-cli.testing.ts';

const RULE = {
  id: 'rule-1',
  name: 'Too many errors',
  enabled: true,
  mode: 'enforce',
  dryRun: false,
  conditionType: 'error_rate_threshold',
  conditionConfig: { threshold: 20 },
  actionType: 'pause_agent',
  actionConfig: {},
  cooldownMinutes: 15,
  priority: 0,
  version: 3,
  createdAt: '2026-11-25T09:00:00.000Z',
  updatedAt: '2026-11-25T09:30:00.000Z',
};
const listing = () => ({ rules: [RULE], total: 1, hasMore: false });

describe('the command line', () => {
  it('suggests the nearest command for an unknown one and exits with 64', async () => {
    const { exitCode, stdout, stderr } = await runCli(['rulse']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    expect(stderr).toContain("unknown command 'rulse'");
    expect(stderr).toContain('Did you mean rules?');
  });

  it.each([
    ['exports', '--help'],
    ['-h', 'exports'],
    ['--url', 'http://a.test', 'exports', '--help'],
  ])('has no help of an unknown command: %s %s', async (...words) => {
    const { exitCode, stdout, stderr } = await runCli(words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    expect(stderr).toContain("unknown command 'exports'");
  });

  it('suggests the nearest option for an unknown one and exits with 64', async () => {
    const { exitCode, stderr, requests } = await runCli(['rules', 'list', '--agnet', 'a']);
    expect({ exitCode, requests }).toEqual({ exitCode: 64, requests: [] });
    expect(stderr).toContain("unknown option '--agnet'");
    expect(stderr).toContain('Did you mean --agent?');
  });

  it('exits with 64 for an invalid value and states the valid ones', async () => {
    const { exitCode, stderr } = await runCli(['runs', 'list', '--from', 'yesterday']);
    expect(exitCode).toBe(64);
    expect(stderr).toContain('an age like 30m, 2h, 7d');
  });

  it('prints requested help on stdout, and help for a missing command on stderr', async () => {
    const asked = await runCli(['rules', '--help']);
    expect([asked.exitCode, asked.stderr]).toEqual([0, '']);
    expect(asked.stdout).toContain('validate');
    const missing = await runCli(['rules']);
    expect([missing.exitCode, missing.stdout]).toEqual([64, '']);
    expect(missing.stderr).toContain('validate');
  });

  it('shows the options of a command in its help', async () => {
    const { exitCode, stdout } = await runCli(['runs', 'list', '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('--min-cost <usd>');
  });

  it('prints its version', async () => {
    expect(await runCli(['--version'])).toMatchObject({ exitCode: 0, stdout: '1.2.3\n' });
  });

  it('takes no key as an option', async () => {
    const { exitCode, stderr } = await runCli(['rules', 'list', '--key', 'agk_live_x']);
    expect(exitCode).toBe(64);
    expect(stderr).toContain("unknown option '--key'");
  });
});

describe('the output of a command', () => {
  it('is a table for people', async () => {
    const { exitCode, stdout } = await runCli(['rules', 'list'], { answer: listing });
    expect(exitCode).toBe(0);
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      'ID      NAME             MODE     IF                    THEN         AGENT  VERSION',
      'rule-1  Too many errors  enforce  error_rate_threshold  pause_agent  *            3',
    ]);
  });

  it('is JSON with --json at any position', async () => {
    for (const words of [
      ['--json', 'rules', 'list'],
      ['rules', '--json', 'list'],
      ['guardrails', 'list', '--json'],
    ]) {
      const { stdout } = await runCli(words, { answer: listing });
      expect(JSON.parse(stdout)).toEqual([RULE]);
    }
  });

  it('fits the terminal and is coloured, unless NO_COLOR is set', async () => {
    const coloured = await runCli(['rules', 'list'], { answer: listing, terminal: 60 });
    expect(coloured.stdout).toContain('\u001b[');
    const plain = await runCli(['rules', 'list'], { answer: listing, terminal: 60, env: { NO_COLOR: '1' } });
    expect(plain.stdout).not.toContain('\u001b[');
    expect(Math.max(...plain.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it('escapes control characters of agents', async () => {
    const answer = () => ({ rules: [{ ...RULE, name: 'a\u001b]0;title\u0007b' }], total: 1, hasMore: false });
    const { stdout } = await runCli(['rules', 'list'], { answer });
    expect(stdout).not.toContain('\u001b');
    expect(stdout).toContain('a\\u001b]0;title\\u0007b');
  });

  it('does not show the cost of agents as nothing if their calls have no known price', async () => {
    const agent = (id: string, totalCostUsd: number, unpricedCalls: number) => ({
      ...{ id, totalCostUsd, unpricedCalls, lastSeenAt: '2026-11-25T09:00:00.000Z', control: { state: 'running' } },
      ...{ sessionCount: 1, eventCount: 2, errorCount: 0 },
    });
    const agents = [agent('priced', 1.5, 0), agent('partly', 1.5, 2), agent('unpriced', 0, 3), agent('free', 0, 0)];
    const { stdout } = await runCli(['agents', 'list'], { answer: () => ({ agents, total: 4, hasMore: false }) });
    const costs = stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/ {2,}/).at(-1));
    expect(costs).toEqual(['$1.50', '≥ $1.50', 'unknown', '$0.00']);
  });

  it('says which agents are active, quiet or stopped', async () => {
    const agent = (id: string, lastSeenAt: string, state: string) => ({
      id,
      lastSeenAt,
      control: { state },
      totalCostUsd: 0,
      unpricedCalls: 0,
      sessionCount: 1,
      eventCount: 2,
      errorCount: 0,
    });
    const agents = [
      agent('a', '2026-11-25T09:59:00.000Z', 'running'),
      agent('b', '2026-11-25T09:47:00.000Z', 'running'),
      agent('c', '2026-11-25T09:59:00.000Z', 'paused'),
    ];
    const { stdout } = await runCli(['agents', 'list'], { answer: () => ({ agents, total: 3, hasMore: false }) });
    const states = stdout.trim().split('\n').slice(1);
    expect(states.map((line) => line.split(/ {2,}/)[1])).toEqual(['active', 'quiet', 'paused']);
  });

  it('notes on stderr that a list is empty, and prints an empty list as JSON', async () => {
    const answer = () => ({ rules: [], total: 0, hasMore: false });
    expect(await runCli(['rules', 'list'], { answer })).toMatchObject({ stdout: '', stderr: 'No rules match.\n' });
    expect((await runCli(['rules', 'list', '--json'], { answer })).stdout).toBe('[]\n');
  });

  it('follows the pages of a list up to the limit and notes if there is more', async () => {
    const answer = ({ path }: { path: string }) => ({
      rules: [{ ...RULE, id: path.includes('cursor=') ? 'second' : 'first' }],
      total: 3,
      hasMore: true,
      nextCursor: 'next',
    });
    const { stdout, stderr, requests } = await runCli(['rules', 'list', '--limit', '2', '--json'], { answer });
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'first' }, { id: 'second' }]);
    expect(requests.map(({ path }) => path)).toEqual([
      '/api/guardrails?limit=2',
      '/api/guardrails?limit=2&cursor=next',
    ]);
    expect(stderr).toContain('There is more');
  });
});

describe('a failing command', () => {
  const failing = (answer: () => unknown) => runCli(['rules', 'get', 'rule-9'], { answer });

  it('exits with 4 and names the scope that the key lacks', async () => {
    const problem = { error: 'Insufficient permissions', hint: 'This needs a key with the scope "admin".' };
    const { exitCode, stdout, stderr } = await failing(() => refusal(403, problem));
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
    expect(stderr).toBe('Error: Insufficient permissions\nThis needs a key with the scope "admin".\n');
  });

  it('exits with 4 for an unknown key and explains how to sign in', async () => {
    const { exitCode, stderr } = await failing(() => refusal(401, { error: 'Invalid API key' }));
    expect(exitCode).toBe(4);
    expect(stderr).toContain('agentlens login');
  });

  it('exits with 5 for a missing object and for a conflict', async () => {
    expect((await failing(() => refusal(404, { error: 'No such rule' }))).exitCode).toBe(5);
    expect((await failing(() => refusal(409, { error: 'Already decided' }))).exitCode).toBe(5);
    expect((await failing(() => refusal(412, { error: 'Changed meanwhile' }))).exitCode).toBe(5);
  });

  it('exits with 6 if nothing answers, and names the address and the reason', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const { exitCode, stderr } = await failing(() => Promise.reject(new TypeError('fetch failed', { cause: refused })));
    expect(exitCode).toBe(6);
    expect(stderr).toContain('No answer from http://platform.test: nothing listens there (ECONNREFUSED)');
    expect(stderr).toContain('agentlens doctor');
  });

  it('exits with 6 if the platform is not ready or times out', async () => {
    expect((await failing(() => refusal(503, { error: 'Starting' }))).exitCode).toBe(6);
    const late = () => Promise.reject(new DOMException('The operation timed out', 'TimeoutError'));
    expect((await failing(late)).exitCode).toBe(6);
  });

  it('lists every invalid path of a request', async () => {
    const details = [{ path: 'conditionConfig.threshold', message: 'must be at most 100' }];
    const answer = () => refusal(400, { error: 'Not a rule', details, requestId: 'req-7' });
    const { exitCode, stderr } = await runCli(['rules', 'create', '-'], { answer, stdin: '{}' });
    expect(exitCode).toBe(1);
    expect(stderr).toBe('Error: Not a rule\n  conditionConfig.threshold: must be at most 100\nRequest req-7\n');
  });
});

describe('a command that changes data', () => {
  it('does nothing without a terminal and suggests --yes', async () => {
    const { exitCode, stderr, requests } = await runCli(['rules', 'delete', 'rule-1'], { answer: () => RULE });
    expect(exitCode).toBe(64);
    expect(stderr).toContain('--yes');
    expect(requests.map(({ method }) => method)).toEqual(['GET']);
  });

  it('proceeds with --yes', async () => {
    const { exitCode, requests } = await runCli(['rules', 'delete', 'rule-1', '--yes'], { answer: () => RULE });
    expect(exitCode).toBe(0);
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toContain('DELETE /api/guardrails/rule-1');
  });

  it("sends a YAML rule in the API's form, and reports file, line and column of an error", async () => {
    const good = await runCli(['rules', 'create', '-'], {
      stdin: 'name: Slow\ncooldownMinutes: 5\n',
      answer: () => RULE,
    });
    expect(good.requests[0]?.body).toEqual({ name: 'Slow', cooldownMinutes: 5 });
    const bad = await runCli(['rules', 'create', '-'], { stdin: 'name: Slow\n  cooldown: [1,\n' });
    expect(bad).toMatchObject({ exitCode: 64, requests: [] });
    expect(bad.stderr).toMatch(/-:\d+:\d+: /);
  });
});
