import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startEmbedded } from './support/embedded.ts';
import { InstalledCli } from './support/installed-cli.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';
import { root } from './support/program.ts';

/** One command line with its exit code, 0 unless it is given. `{name}` is an id that an earlier line kept. */
interface Line {
  readonly words: string;
  readonly code?: number;
  readonly stdin?: string;
  /** Keeps the member of the answer under this name. */
  readonly keep?: Readonly<Record<string, string>>;
}

const UNKNOWN = '01999999-9999-7999-8999-999999999999';
const INVOICE = 'day,model,cost\n2026-11-01,gpt-4o,1.00\n';
const RULE = '{"name":"Buying","conditionType":"tool_name","conditionConfig":{"operator":"glob","value":"buy_*"},';
const APPROVAL = `${RULE}"actionType":"require_approval","actionConfig":{"title":"May it buy?"}}`;
const ACCESS =
  '{"apiVersion":"agentlens/v1","policies":[{"id":"payments","name":"Payments","match":{"tools":["pay_*"]},' +
  '"approvers":{"anyone":true},"quorum":1}]}';

/** Every command, in an order in which each finds what it needs. */
const LINES: readonly Line[] = [
  { words: 'check search --agent worker --run run-1' },
  { words: 'rules validate -', stdin: APPROVAL },
  { words: 'rules create - --json', stdin: APPROVAL, keep: { rule: 'id' } },
  { words: 'rules list' },
  { words: 'rules get {rule}' },
  { words: 'rules disable {rule}' },
  { words: 'rules enable {rule}' },
  { words: 'rules versions {rule}' },
  { words: 'rules revert {rule} 1 --yes' },
  { words: 'rules history' },
  { words: 'rules pull' },
  { words: 'rules pull {rule} --json' },
  { words: 'rules init {folder}' },
  { words: 'rules promote {folder} large-payments --yes' },
  { words: 'rules init {folder}', code: 5 },
  { words: 'rules validate {rules}' },
  { words: 'rules test {tests}' },
  { words: 'rules backtest {rules} --since 1d' },
  { words: 'rules plan {rules}' },
  { words: 'rules apply {rules} --yes' },
  { words: 'rules pull --ruleset payments' },
  { words: 'check buy_report --agent shopper --run run-2 --json', code: 3, keep: { approval: 'cause.approvalId' } },
  { words: 'approvals list' },
  { words: 'approvals show {approval}' },
  { words: 'approvals approve {approval} --reason fine' },
  { words: 'approvals deny {approval}', code: 5 },
  { words: 'alerts list' },
  { words: 'alerts show {approval}' },
  { words: 'alerts notices {approval}' },
  { words: 'alerts acknowledge {approval}', code: 5 },
  { words: 'alerts cancel {approval}', code: 5 },
  { words: 'gateway try' },
  { words: 'gateway connect anthropic --base-url http://127.0.0.1:1', stdin: 'sk-ant-1' },
  { words: 'gateway disable anthropic' },
  { words: 'gateway list' },
  { words: 'gateway enable anthropic' },
  { words: 'gateway key shopper' },
  { words: 'gateway env claude-code --agent shopper' },
  { words: 'gateway env codex' },
  { words: 'gateway doctor', code: 1 },
  { words: 'gateway disconnect anthropic --yes' },
  { words: 'runs list' },
  { words: 'runs search tidal' },
  { words: 'runs show run-1' },
  { words: 'runs tree run-1' },
  { words: 'runs limits' },
  { words: 'runs pause run-1 --no-wait' },
  { words: 'runs resume run-1 --no-wait' },
  { words: 'runs kill run-1 --no-wait --json', keep: { order: 'order.id' } },
  { words: 'labels run-2' },
  { words: 'events list' },
  { words: `events get ${UNKNOWN}`, code: 5 },
  { words: 'decisions list --json', keep: { decision: '0.id' } },
  { words: 'decisions show {decision}' },
  { words: 'decisions paths' },
  { words: 'evidence run run-2' },
  { words: 'evidence decision {decision}' },
  { words: 'evidence approval {approval}' },
  { words: 'evidence order {order}' },
  { words: 'log verify' },
  { words: 'log checkpoint' },
  { words: 'log key --json', keep: { log: 'key' } },
  { words: 'log checkpoint --witnessed', code: 5 },
  { words: 'incident --from 1h' },
  { words: 'agents list' },
  { words: 'agents show worker' },
  { words: 'agents health' },
  { words: 'agents unpause worker' },
  { words: 'pause agent worker --yes --no-wait' },
  { words: 'resume agent worker --yes --no-wait' },
  { words: 'kill run run-2 --no-wait' },
  { words: 'budgets create daily --scope tenant --limit 20 --json', keep: { budget: 'id' } },
  { words: 'budgets list' },
  { words: 'budgets show {budget}' },
  { words: 'budgets update {budget} --limit 40' },
  { words: 'budgets delete {budget} --yes' },
  { words: 'breakers list' },
  { words: 'breakers limits' },
  { words: 'breakers reset agent worker' },
  { words: 'spend' },
  { words: 'prices list' },
  { words: 'prices explain gpt-4o' },
  { words: 'prices set our-model --input 1 --output 2 --json', keep: { price: 'id' } },
  { words: 'prices delete {price} --yes' },
  { words: 'prices unpriced' },
  { words: 'prices update --from -', stdin: '[]', code: 4 },
  { words: 'reprice --from 1d --dry-run' },
  { words: 'invoice check -', stdin: INVOICE },
  { words: 'deploys add 1.0.0 --agent worker' },
  { words: 'deploys list' },
  { words: 'deliveries list' },
  { words: `deliveries replay ${UNKNOWN}`, code: 5 },
  { words: 'webhooks create http://127.0.0.1:9/hook --events alerts --json', keep: { webhook: 'id' } },
  { words: 'channels set ops -', stdin: '{"config":{"kind":"webhook","url":"http://127.0.0.1:9/hook"}}' },
  { words: 'channels list' },
  { words: 'channels show ops' },
  { words: 'channels test ops' },
  { words: 'routes apply -', stdin: '{"routes":[{"id":"all","channels":["ops"],"groupBy":["agent"]}]}' },
  { words: 'routes show' },
  { words: 'routes explain severity=critical agent=shopper' },
  { words: 'silences create agent=shopper --for 2h -m deploy --json', keep: { silence: 'id' } },
  { words: 'silences create agent=shopper --from 12h --for 2h -m backup' },
  { words: 'silences list' },
  { words: 'silences end {silence}' },
  { words: 'channels link nothing', code: 1 },
  { words: 'channels delete ops --yes', code: 5 },
  { words: 'webhooks list' },
  { words: 'webhooks disable {webhook}' },
  { words: 'webhooks enable {webhook}' },
  { words: 'webhooks test {webhook}' },
  { words: 'webhooks deliveries {webhook}' },
  { words: 'webhooks rotate-secret {webhook}' },
  { words: 'webhooks delete {webhook} --yes' },
  { words: 'tenants list', code: 4 },
  { words: 'tenants create acme', code: 4 },
  { words: 'keys create ci --scopes read --json', keep: { key: 'id' } },
  { words: 'keys list' },
  { words: 'keys rotate {key} --json', keep: { rotated: 'id' } },
  { words: 'keys revoke {rotated} --yes' },
  { words: 'people list' },
  { words: `people grant ${UNKNOWN} approver`, code: 5 },
  { words: `people disable ${UNKNOWN} --yes`, code: 5 },
  { words: `people enable ${UNKNOWN}`, code: 5 },
  { words: 'on-call list' },
  { words: 'on-call now' },
  { words: 'on-call override unknown unknown --for 7d', code: 5 },
  { words: 'deputies list' },
  { words: 'deputies set unknown --for 7d', code: 5 },
  { words: 'deputies end unknown', code: 5 },
  { words: 'teams list' },
  { words: 'policies list' },
  { words: 'access plan -', stdin: ACCESS },
  { words: 'access apply - --yes', stdin: ACCESS },
  { words: 'policies explain worker search' },
  { words: 'audit' },
  { words: 'settings show' },
  { words: 'settings set decisionFailMode=block' },
  { words: 'login other --url {url}', stdin: '{admin}\n' },
  { words: 'profiles list' },
  { words: 'profiles use other' },
  { words: 'whoami' },
  { words: 'logout other' },
  { words: 'doctor' },
  { words: 'dead-letters list', code: 6 },
  { words: 'dead-letters redrive group message --yes', code: 6 },
  { words: 'nats-sub', code: 6 },
  { words: 'streams-save', code: 6 },
  { words: 'streams-load', code: 6 },
  { words: 'backup saved', code: 64 },
  { words: 'restore saved', code: 64 },
  { words: 'guard rules' },
  { words: 'guard setup' },
  { words: 'guard login', stdin: '{admin}\n' },
  { words: 'guard claude-code' },
  { words: 'guard gemini-cli' },
  { words: 'guard qwen-code' },
  { words: 'guard copilot-cli' },
  { words: 'guard kimi-code' },
  { words: 'guard opencode' },
  // This one is asked to trust the hooks, and is not there.
  { words: 'guard codex --yes', code: 1 },
  { words: 'guard install claude-code --enforce' },
  { words: 'guard enforce destructive' },
  { words: 'guard status' },
  { words: 'guard audit claude-code' },
  { words: 'guard doctor claude-code', code: 1 },
  { words: 'guard stop' },
  { words: 'guard off --all' },
  { words: 'mcp' },
  { words: 'api get /api/me' },
  { words: 'completion bash' },
  { words: 'complete -- guard --' },
  { words: 'rules delete {rule} --yes' },
];

/** Commands that run until they are interrupted. */
const FOLLOWING = [
  'tail',
  'approvals watch',
  'demo',
  'witness --key {home}/witness.key --name witness.example/w1 --log {log} --listen 127.0.0.1:0',
];

/** What a bundler gets wrong shows only when the packed command runs: one call of each. */
describe('every command of the packed command line', () => {
  let cli: InstalledCli;
  let platform: PlatformUnderTest;
  const kept = new Map<string, string>();
  const ran = new Set<string>();
  const filled = (text: string) =>
    text.replaceAll(/(?<!["\w:])\{(\w+)\}/g, (_all, name: string) => {
      const found = kept.get(name);
      if (found === undefined) throw new Error(`no earlier line kept "${name}"`);
      return found;
    });

  beforeAll(async () => {
    const home = await mkdtemp(join(tmpdir(), 'agentlens-cli-'));
    [platform, cli] = await Promise.all([startEmbedded(), InstalledCli.install(home)]);
    const claude = join(home, 'claude');
    await writeFile(claude, '#!/bin/sh\necho "2.1.332 (Claude Code)"\n', { mode: 0o755 });
    const path = `${home}:${process.env.PATH}`;
    const env = { AGENTLENS_URL: platform.edges[0] ?? '', AGENTLENS_API_KEY: platform.adminKey };
    cli = cli.with({ ...env, PATH: path, NATS_URL: 'nats://127.0.0.1:9' });
    for (const [run, agentId] of [
      ['run-1', 'worker'],
      ['run-2', 'shopper'],
    ]) {
      const headers = { authorization: `Bearer ${platform.adminKey}`, 'content-type': 'application/json' };
      const start = { method: 'POST', headers, body: JSON.stringify({ agentId }) };
      expect((await fetch(`${env.AGENTLENS_URL}/v1/runs/${run}/start`, start)).ok).toBe(true);
      await eventually(async () =>
        expect((await fetch(`${env.AGENTLENS_URL}/api/runs/${run}`, { headers })).status).toBe(200),
      );
    }
    kept.set('home', home).set('url', env.AGENTLENS_URL).set('admin', platform.adminKey);
    kept.set('rules', join(root, 'examples/rules/payments.yaml'));
    kept.set('folder', join(home, 'new-rules'));
    kept.set('tests', join(root, 'examples/rules/payments.test.yaml'));
  });
  afterAll(async () => {
    await cli?.run('guard', 'stop');
    await platform?.stop();
    if (cli !== undefined) await rm(cli.home, { recursive: true, force: true });
  });

  it.each(LINES.map((line) => [line.words, line] as const))('%s', async (words, { code = 0, stdin = '', keep }) => {
    ran.add(words);
    const given = words.split(' ').map(filled);
    const ended = await cli.runWith(filled(stdin), ...given);
    expect({ ...ended, stdout: ended.code === code ? '' : ended.stdout }).toMatchObject({ code });
    for (const [name, member] of Object.entries(keep ?? {})) {
      let value: unknown = JSON.parse(ended.stdout);
      for (const part of member.split('.')) value = (value as Record<string, unknown>)[part];
      kept.set(name, String(value));
    }
  });

  it.each(FOLLOWING)('%s, until it is interrupted', async (words) => {
    ran.add(words);
    const following = cli.start(...words.split(' ').map(filled));
    await eventually(async () => {
      await cli.run('check', 'search', '--agent', 'worker', '--run', 'run-follow');
      expect(following.printed).not.toBe('');
    });
    expect(await following.interrupt()).toBe(130);
  });

  it('is on the list above', async () => {
    const complete = async (...words: string[]) => {
      const { stdout } = await cli.run('complete', '--', ...words, '');
      return stdout.split('\n').filter((word) => /^[a-z]/.test(word));
    };
    const missing: string[] = [];
    for (const first of await complete()) {
      const inner = await complete(first);
      for (const name of inner.length === 0 ? [first] : inner.map((second) => `${first} ${second}`))
        if (![...ran].some((words) => words === name || words.startsWith(`${name} `))) missing.push(name);
    }
    expect(missing).toEqual([]);
  });
});
