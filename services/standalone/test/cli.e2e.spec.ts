import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEmbedded } from './support/embedded.ts';
import { InstalledCli } from './support/installed-cli.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

const RULE = `
name: Buying needs a human
conditionType: tool_name
conditionConfig: { operator: glob, value: "buy_*" }
actionType: require_approval
actionConfig: { title: May it buy this? }
`;

/** The packed command, installed outside of this repository, against a running platform. */
describe('the installed command line', () => {
  let cli: InstalledCli;
  let platform: PlatformUnderTest;

  beforeAll(async () => {
    const home = await mkdtemp(join(tmpdir(), 'agentlens-cli-'));
    [platform, cli] = await Promise.all([startEmbedded(), InstalledCli.install(home)]);
    cli.env.AGENTLENS_URL = platform.edges[0];
    cli.env.AGENTLENS_API_KEY = platform.adminKey;
  });
  afterAll(async () => {
    await platform?.stop();
    if (cli !== undefined) await rm(cli.home, { recursive: true, force: true });
  });

  it('runs with npx and knows its version', async () => {
    const { version } = JSON.parse(await readFile(join(cli.home, 'node_modules/@agentlens/cli/package.json'), 'utf8'));
    expect(await cli.npx('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it('reports no problem for a working connection', async () => {
    const { code, stdout } = await cli.run('doctor', '--json');
    const results = (JSON.parse(stdout) as { check: string; result: string }[]).map(({ check, result }) => [
      check,
      result,
    ]);
    expect(Object.fromEntries(results)).toEqual({
      ...{
        connection: 'ok',
        key: 'ok',
        clock: 'ok',
        version: 'ok',
        stream: 'ok',
        rules: 'ok',
        approvals: 'ok',
        prices: 'ok',
        usage: 'ok',
      },
    });
    expect(code).toBe(0);
  });

  it('exits with 6 if nothing listens, and with 4 if the key lacks the scope, naming it', async () => {
    const nowhere = await cli.run('--url', 'http://127.0.0.1:9', 'runs', 'list');
    expect(nowhere).toMatchObject({ code: 6, stdout: '' });
    expect(nowhere.stderr).toContain('http://127.0.0.1:9');
    const { key } = await platform.keyOf('default', 'read');
    const refused = await cli.with({ AGENTLENS_API_KEY: key }).run('keys', 'list');
    expect(refused).toMatchObject({ code: 4, stdout: '' });
    expect(refused.stderr).toContain('"admin"');
  });

  it('saves a piped key, readable only by its user, and uses it from then on', async () => {
    const { AGENTLENS_API_KEY: _key, AGENTLENS_URL: url = '', ...env } = cli.env;
    const stranger = new InstalledCli(cli.home, env);
    expect((await stranger.run('rules', 'list')).code).not.toBe(0);
    const login = await stranger.runWith(`${platform.adminKey}\n`, 'login', '--url', url);
    expect(login).toMatchObject({ code: 0 });
    expect(login.stdout + login.stderr).not.toContain(platform.adminKey);
    const file = join(cli.home, 'config/agentlens/profiles.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stranger.run('rules', 'list')).code).toBe(0);
    expect((await stranger.run('logout')).code).toBe(0);
  });

  it('creates a rule, follows an approval live, lets a person decide, and deletes the rule', async () => {
    const file = join(cli.home, 'buying.yaml');
    await writeFile(file, RULE);
    expect(await cli.run('rules', 'validate', file)).toMatchObject({ code: 0, stderr: '' });
    const { id } = JSON.parse((await cli.run('rules', 'create', file, '--json')).stdout) as { id: string };

    const following = [cli.start('tail', '--json'), cli.start('approvals', 'watch', '--json')] as const;
    const [tail, watch] = following;
    await watch.until(/Watching/);
    // It prints nothing on connecting: it is connected once it shows events.
    await eventually(async () => {
      await cli.run('check', 'search', '--agent', 'worker', '--run', 'run-tail');
      expect(tail.printed).toContain('"event":"decision"');
    });
    const words = ['check', 'buy_report', '--agent', 'shopper', '--run', 'run-cli'];
    let approvalId = '';
    await eventually(async () => {
      const { code, stdout } = await cli.run(...words, '--json');
      expect(code).toBe(3);
      approvalId = (JSON.parse(stdout) as { cause: { approvalId: string } }).cause.approvalId;
    });
    await watch.until(/"status":"pending"/);
    expect(await cli.run('approvals', 'approve', approvalId, '--reason', 'fine')).toMatchObject({ code: 0 });
    await watch.until(/"status":"approved"/);
    await tail.until(/"event":"alert_changed".*"approved"/);
    expect((await cli.run('approvals', 'deny', approvalId)).code).toBe(5);

    const codes = await Promise.all(following.map((one) => one.interrupt()));
    expect(codes).toEqual([130, 130]);
    expect((await cli.run('rules', 'delete', id)).code).toBe(64);
    expect((await cli.run('rules', 'delete', id, '--yes')).code).toBe(0);
    expect((await cli.run('rules', 'get', id)).code).toBe(5);
  });

  it('stops a run, shows it, and lets it continue', async () => {
    expect((await cli.run('check', 'search', '--agent', 'worker', '--run', 'run-stop')).code).toBe(0);
    const killed = await cli.run('runs', 'kill', 'run-stop', '--reason', 'enough', '--json', '--no-wait');
    expect(JSON.parse(killed.stdout)).toMatchObject({ order: { scopeId: 'run-stop', state: 'killed' } });
    await eventually(async () => {
      expect((await cli.run('check', 'search', '--agent', 'worker', '--run', 'run-stop')).code).toBe(3);
    });
    const decisions = await cli.run('decisions', 'list', '--run', 'run-stop', '--json');
    expect(JSON.parse(decisions.stdout)).toEqual(
      expect.arrayContaining([expect.objectContaining({ verdict: 'BLOCK', runId: 'run-stop' })]),
    );
  });

  it.each([
    ['agents', 'list'],
    ['alerts', 'list'],
    ['approvals', 'list', '--all'],
    ['breakers', 'limits'],
    ['breakers', 'list'],
    ['budgets', 'list'],
    ['deliveries', 'list'],
    ['events', 'list'],
    ['keys', 'list'],
    ['rules', 'history'],
    ['runs', 'list', '--from', '1h'],
    ['settings', 'show'],
    ['spend', '--by', 'model'],
    ['webhooks', 'list'],
    ['audit', '--from', '1h'],
    ['agents', 'health'],
  ])('reads %s %s', async (...words) => {
    const { code, stdout } = await cli.run(...words, '--json');
    expect(code).toBe(0);
    expect(() => JSON.parse(stdout) as unknown).not.toThrow();
  });

  it.each([['dead-letters'], ['nats-sub']])(
    'includes what %s needs, and reports that no NATS server answers',
    async (word) => {
      const { code, stderr } = await cli.with({ NATS_URL: 'nats://127.0.0.1:9' }).run(word);
      expect(code).toBe(6);
      expect(stderr).toContain('No NATS server answers at nats://127.0.0.1:9');
    },
  );

  it('serves MCP on stdin and stdout until the input ends', async () => {
    const clientInfo = { name: 'spec', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const request = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    const server = cli.start('mcp');
    server.write(`${JSON.stringify(request)}\n`);
    await server.until(/"serverInfo"/);
    expect(await server.end()).toBe(0);
  });

  it('creates a budget and a key, and deletes both', async () => {
    const made = await cli.run(
      'budgets',
      'create',
      'daily',
      '--scope',
      'tenant',
      '--limit',
      '20',
      '--period',
      'day',
      '--json',
    );
    const budget = JSON.parse(made.stdout) as { id: string };
    expect(JSON.parse((await cli.run('budgets', 'show', budget.id, '--json')).stdout)).toMatchObject({
      budget: { name: 'daily', limitUsd: 20, period: 'day' },
    });
    expect((await cli.run('budgets', 'delete', budget.id, '-y')).code).toBe(0);
    const key = JSON.parse((await cli.run('keys', 'create', 'ci', '--scopes', 'read', '--json')).stdout) as {
      id: string;
      key: string;
    };
    const asKey = cli.with({ AGENTLENS_API_KEY: key.key });
    expect((await asKey.run('runs', 'list')).code).toBe(0);
    expect((await cli.run('keys', 'revoke', key.id, '-y')).code).toBe(0);
    await eventually(async () => expect((await asKey.run('runs', 'list')).code).toBe(4));
  });

  it('exits quietly if the reader of its output closes', async () => {
    const pipe = spawn('sh', ['-c', `"${cli.program}" tail | head -n 1`], { env: cli.env });
    pipe.stdout.on('data', () => undefined);
    const lines: string[] = [];
    pipe.stderr.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
    const ended = new Promise((resolve) => pipe.once('close', resolve));
    await eventually(async () => {
      await cli.run('check', 'search', '--agent', 'worker', '--run', 'run-pipe');
      expect(pipe.exitCode).toBe(0);
    });
    await ended;
    expect(lines.join('')).toBe('');
  });
});
