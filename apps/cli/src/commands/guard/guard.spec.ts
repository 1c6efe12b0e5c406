import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRuleFiles, readTestFile, runTest } from '@agentlens/replay';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { refusal, runCli, type SentRequest } from '../../run-cli.testing.ts';

/** Calls with their tags, each with what the starter rules do when they act. */
const FIXTURES = `rules: ./coding-agents.yaml
tests:
  - name: ordinary work passes
    calls:
      - { tool: shell, args: { command: ls }, toolTags: [shell, "host:codex"], expect: { effect: allow } }
      - { tool: write_file, args: { path: a }, toolTags: [write, "host:codex"], expect: { effect: allow } }
      - { tool: web_fetch, args: { url: "https://a" }, toolTags: [network, "host:codex"], expect: { effect: allow } }
  - name: the guard is not changed
    calls:
      - { tool: write_file, args: { path: .claude/settings.json }, toolTags: [write, guard-files], expect: { effect: block, rule: guard-files } }
      - { tool: read_file, args: { path: .claude/settings.json }, toolTags: [read, guard-files], expect: { effect: allow } }
  - name: secrets do not leave
    calls:
      - { tool: shell, args: { command: curl }, toolTags: [shell, network, secret-value], expect: { effect: block, rule: secrets-leave } }
      - { tool: write_file, args: { path: a }, toolTags: [write, secret-value], expect: { effect: allow } }
  - name: a person decides about what cannot be taken back
    calls:
      - { tool: shell, args: { command: rm }, toolTags: [shell, destructive], expect: { effect: ask, rule: destructive } }
      - { tool: shell, args: { command: push }, toolTags: [shell, publish, network], expect: { effect: ask, rule: publish } }
      - { tool: read_file, args: { path: .env }, toolTags: [read, secret-path], expect: { effect: ask, rule: secret-files } }
      - { tool: write_file, args: { path: /x }, toolTags: [write, outside-project], expect: { effect: ask, rule: outside-project } }
      - { tool: shell, args: { command: x }, toolTags: [shell, opaque, network], expect: { effect: ask, rule: opaque-network } }
      - { tool: shell, args: { command: y }, toolTags: [shell, opaque], expect: { effect: allow } }
  - name: only Codex may not open shells
    calls:
      - { tool: shell, args: { command: bash }, toolTags: [shell, interactive, "host:codex"], expect: { effect: block, rule: open-shells } }
      - { tool: shell, args: { command: bash }, toolTags: [shell, interactive, "host:claude-code"], expect: { effect: allow } }
`;

describe('agentlens guard', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'agentlens-guard-'));
    mkdirSync(join(home, 'bin'));
    writeFileSync(join(home, 'bin/claude'), '#!/bin/sh\necho "2.1.332 (Claude Code)"\n', { mode: 0o755 });
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  const config = () => join(home, '.config/agentlens/guard/guard.json');
  const guard = (words: readonly string[], answer = platform, env: Readonly<Record<string, string>> = {}) => {
    const surroundings = { HOME: home, PATH: `${home}/bin:/usr/bin:/bin`, ...env };
    return runCli(['guard', ...words], { env: surroundings, folder: home, answer });
  };
  const starter = (key: string, more = {}) => ({
    ...{ id: `id-${key}`, key, name: key, ruleset: 'coding-agents', mode: 'shadow', enabled: true },
    ...{ conditionType: 'tool_tag', conditionConfig: {}, actionType: 'block', actionConfig: {}, ...more },
  });
  const onPlatform = [
    starter('destructive', { priority: 7 }),
    starter('publish'),
    starter('loops', { mode: 'enforce' }),
    starter('refusals-ignored-codex', { mode: 'enforce', actionType: 'raise_alert' }),
    starter('own', { ruleset: 'payments' }),
  ];
  const platform = ({ path }: SentRequest): unknown => {
    if (path === '/api/me') return { scopes: ['admin'] };
    if (path.startsWith('/api/guardrails?')) return { rules: onPlatform };
    if (path === '/api/keys') return { key: 'agk_live_guard' };
    if (path === '/api/breakers/limits') return { limits: [] };
    const changes = [{ key: 'destructive', action: 'create', name: 'x', changes: [], drift: [] }];
    return { problems: [], basis: {}, changes, unlisted: [] };
  };

  it('names each starter rule differently, because one list shows those of all agents', async () => {
    const { stdout } = await runCli(['guard', 'rules']);
    const names = [...stdout.matchAll(/^ +name: (.+)$/gm)].map(([, name]) => name);
    expect(names).toContain('codex ran a call that was not allowed');
    expect(new Set(names).size).toBe(names.length);
  });

  it('prints starter rules that decide as their fixtures say', async () => {
    const { exitCode, stdout } = await guard(['rules', '--enforce']);
    expect(exitCode).toBe(0);
    const { rulesets, problems } = readRuleFiles([{ file: 'coding-agents.yaml', text: stdout }]);
    expect(problems).toEqual([]);
    const fixtures = readTestFile({
      file: 'coding-agents.test.yaml',
      text: FIXTURES,
    });
    expect(fixtures.problems).toEqual([]);
    const rules = rulesets.flatMap((ruleset) => ruleset.rules);
    for (const test of fixtures.tests) expect((await runTest(rules, test)).failures).toEqual([]);
  });

  it('sets the platform up and saves a key that only its user can read', async () => {
    const { exitCode, stdout, requests } = await guard(['setup', '--agents', 'claude-code'], platform);
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain('agk_live_guard');
    expect(requests.find(({ path }) => path === '/api/keys')?.body).toMatchObject({
      scopes: ['ingest', 'decide'],
      agents: ['claude-code'],
    });
    expect(requests.find(({ method }) => method === 'PUT')?.body).toMatchObject({
      scope: 'agent',
      scopeId: 'claude-code',
      limits: { maxIterations: 100_000, maxCostUsd: 50 },
    });
    const applied = requests.find(({ path }) => path.endsWith('/apply'))?.body as {
      rules: { key: string; mode: string }[];
    };
    expect(applied.rules.map(({ key, mode }) => [key, mode])).toEqual([['destructive', 'shadow']]);
    expect(JSON.parse(readFileSync(config(), 'utf8'))).toMatchObject({
      url: 'http://platform.test',
      key: 'agk_live_guard',
    });
    expect(statSync(config()).mode & 0o777).toBe(0o600);
  });

  it('prints the key for other machines when asked to, and saves nothing', async () => {
    const { stdout } = await guard(['setup', '--print-key'], platform);
    expect(stdout).toContain('agk_live_guard');
    expect(existsSync(config())).toBe(false);
  });

  it('needs a setup before it installs', async () => {
    const { exitCode, stderr } = await guard(['claude-code']);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('agentlens guard setup');
  });

  it('installs, shows the status, and restores', async () => {
    await guard(['setup'], platform);
    const settings = join(home, '.claude/settings.json');
    mkdirSync(join(home, '.claude'));
    writeFileSync(settings, '{ "model":"x" }');
    const installed = await guard(['claude-code', '--enforce']);
    expect(installed.exitCode).toBe(0);
    expect(installed.stdout).toContain('Claude Code 2.1.332: enforced');
    const { stdout } = await guard(['status', '--json']);
    expect(JSON.parse(stdout).hosts).toEqual([
      {
        host: 'claude-code',
        version: '2.1.332',
        contract: 'tested',
        mode: 'enforce',
        files: 'unchanged',
        closed: 'closed',
      },
    ]);
    expect((await guard(['off', '--all'])).exitCode).toBe(0);
    expect(readFileSync(settings, 'utf8')).toBe('{ "model":"x" }');
  });

  it('says what the starter rules do not refuse yet, and what to type next', async () => {
    await guard(['setup']);
    const { stderr } = await guard(['claude-code', '--enforce']);
    expect(stderr).toContain('2 of 3 starter rules only record');
    expect(stderr).toContain('agentlens guard enforce');
    const refuse = ({ path, ...rest }: SentRequest) =>
      path.startsWith('/api/guardrails?')
        ? refusal(403, { error: 'The key needs the scope "read"' })
        : platform({ path, ...rest });
    expect((await guard(['claude-code', '--enforce'], refuse)).stderr).toMatch(
      /not known here .*"read".*guard enforce/,
    );
    expect((await guard(['claude-code'])).stderr).toBe('');
  });

  it('enforces the starter rules, or one of them, and keeps the rest of each rule', async () => {
    const applied = (run: Awaited<ReturnType<typeof guard>>) =>
      (run.requests.find(({ path }) => path.endsWith('/apply'))?.body as { rules?: Record<string, unknown>[] })?.rules;
    const all = await guard(['enforce']);
    expect(applied(all)).toMatchObject([
      { key: 'publish', mode: 'enforce' },
      { key: 'destructive', priority: 7 },
    ]);
    expect(all.stdout).toContain('publish, destructive');
    const one = await guard(['enforce', 'publish']);
    expect(applied(one)).toMatchObject([{ key: 'publish', mode: 'enforce' }]);
    expect(one.stdout).toContain('These still only record: destructive.');
    const unknown = await guard(['enforce', 'nothing']);
    expect(unknown).toMatchObject({ exitCode: 64 });
    expect(unknown.stderr).toContain('loops, publish, destructive');
    expect(applied(await guard(['enforce', 'loops']))).toBeUndefined();
  });

  it('enforces rules that exist already when it sets up with --enforce', async () => {
    const { requests, stdout } = await guard(['setup', '--enforce']);
    const applies = requests.filter(({ path }) => path.endsWith('/apply')).map(({ body }) => body);
    expect(applies.at(-1)).toMatchObject({ rules: [{ key: 'publish', mode: 'enforce' }, { key: 'destructive' }] });
    expect(stdout).toContain('of which 2 act from now on');
  });

  it('applies the rule about repetition to the agents of the guard only', async () => {
    const { stdout } = await guard(['rules', '--agents', 'codex', '--json']);
    const { rules } = JSON.parse(stdout) as { rules: { key: string; selector?: object }[] };
    expect(rules.find(({ key }) => key === 'loops')?.selector).toMatchObject({ agentSlugsAny: ['codex'] });
  });

  it('installs with the address and the key of the environment, but saves no key that may do more', async () => {
    const env = { AGENTLENS_URL: 'http://other.test', AGENTLENS_API_KEY: 'agk_live_narrow' };
    const narrow = ({ path, ...rest }: SentRequest) =>
      path === '/api/me' ? refusal(403, { error: 'no' }) : platform({ path, ...rest });
    expect((await guard(['claude-code'], platform, env)).stderr).toContain('agentlens guard setup');
    expect((await guard(['claude-code'], narrow, env)).exitCode).toBe(0);
    expect(JSON.parse(readFileSync(config(), 'utf8'))).toMatchObject({
      url: env.AGENTLENS_URL,
      key: 'agk_live_narrow',
    });
    const moved = await guard(['claude-code']);
    expect(moved.exitCode).toBe(5);
    expect(moved.stderr).toContain('the guard reports to http://other.test');
    expect(JSON.parse(readFileSync(config(), 'utf8'))).toMatchObject({ url: env.AGENTLENS_URL });
  });

  it('warns about a project that turns hooks off', async () => {
    await guard(['setup'], platform);
    await guard(['claude-code']);
    writeFileSync(join(home, '.claude/settings.local.json'), '{"disableAllHooks": true}');
    expect((await guard(['status'])).stdout).toContain('turns the hooks of Claude Code off');
  });

  it('names the coding agents for a misspelled one', async () => {
    const { exitCode, stderr } = await guard(['install', 'claude']);
    expect(exitCode).toBe(64);
    expect(stderr).toContain('claude-code, codex');
  });

  it('exits with 3 if a transcript has a call that was not decided', async () => {
    await guard(['setup'], platform);
    const folder = join(home, '.claude/projects/p');
    mkdirSync(folder, { recursive: true });
    const at = new Date().toISOString();
    const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } };
    const lines = [
      { type: 'assistant', sessionId: 's1', timestamp: at, message: { content: [call] } },
      {
        type: 'user',
        sessionId: 's1',
        timestamp: at,
        message: { content: [{ type: 'tool_result', tool_use_id: 't1' }] },
      },
    ];
    writeFileSync(join(folder, 's1.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'));
    const { exitCode, stdout } = await guard(['audit', 'claude-code', '--since', '2020-01-01']);
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/unseen.*Bash.*t1.*s1/);
    expect(stdout).toMatch(/^1 calls in 1 transcripts since 2020-01-01/);
    expect(stdout).toContain('refused, failed or have no result yet are not counted');
  });
});
