import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { proveHost } from '../../guard/src/doctor/doctor.ts';
import { prepareHome, runHost, SHELL_TOOLS, shellInput, type Stage, stageEnv } from '../../guard/src/doctor/drive.ts';
import {
  type ModelScript,
  type ModelServer,
  type ScriptedCall,
  startModelServer,
} from '../../guard/src/doctor/model-server.ts';
import { HOST_IDS, type HostId } from '../../guard/src/hosts/host.ts';
import { HOSTS } from '../../guard/src/hosts/index.ts';
import { type Installation, installHost, stopResident, uninstallHost } from '../../guard/src/install/install.ts';
import { MANAGED_HOSTS } from '../../guard/src/install/managed.ts';
import { starterRules } from '../../guard/src/starter-rules.ts';
import { DEFAULT_SETTINGS, type GuardConfig, guardPaths, Journal, writeConfig } from '../../guard/src/state.ts';
import { auditHost } from '../../guard/src/transcripts/audit.ts';
import { managedMachine } from './managed-machine.ts';

/** Given by `npm run test:hosts`, which installs the hosts and starts a platform. */
const {
  AGENTLENS_KIT_URL: url = '',
  AGENTLENS_KIT_KEY: key = '',
  GUARD_HOSTS_BIN: bin = '',
  GUARD_HOSTS_BUNDLE: bundle = '',
  GUARD_HOSTS_REPORT: report = '',
} = process.env;
assert.ok(url !== '' && key !== '' && bin !== '', 'run this with: npm run test:hosts');

const chosen = HOST_IDS.filter(
  (id) => (process.env.GUARD_HOSTS ?? '') === '' || process.env.GUARD_HOSTS?.split(',').includes(id),
);
const main = fileURLToPath(new URL('../../guard/src/main.ts', import.meta.url));
const runtime = { node: process.execPath, nodeArgs: ['--conditions=@agentlens/source'], entry: main, bundle: false };
const PROMPT = 'Follow the instructions.';
const SUB_AGENT_PROMPT = 'Do your part of the work.';
const DEADLINE_MS = 60_000;
const EVERY_MS = 100;

async function operator<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

/** Repeats a question until it has an answer. */
async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (const until = performance.now() + DEADLINE_MS; ; await wait(EVERY_MS)) {
    const found = await ask();
    if (found !== undefined) return found;
    assert.ok(performance.now() < until, 'there is no answer in time');
  }
}

/** Waits until a condition holds, but not long. */
async function soon(holds: () => Promise<boolean>): Promise<void> {
  for (const until = performance.now() + 3_000; performance.now() < until && !(await holds()); ) await wait(EVERY_MS);
}

async function isSpent(budgetId: string): Promise<boolean> {
  const { pots } = await operator<{ pots: { spentUsd: number }[] }>('GET', `/api/budgets/${budgetId}`);
  return pots.some(({ spentUsd }) => spentUsd > 0);
}

interface Alert {
  readonly id: string;
  readonly message: string;
}

/** Waits for the approval of a call that contains `words`, and decides it. */
async function decide(agentId: string, words: string, decision: 'approve' | 'deny'): Promise<void> {
  const { id } = await eventually(async () => {
    const { alerts } = await operator<{ alerts: Alert[] }>(
      'GET',
      `/api/alerts?kind=approval&status=pending&agentId=${agentId}`,
    );
    return alerts.find(({ message }) => message.includes(words));
  });
  await operator('POST', `/api/alerts/${id}/${decision}`, { reason: 'story' });
}

interface Run {
  readonly id: string;
  readonly status: string;
  readonly parentRunId?: string | null;
  readonly runTags?: Readonly<Record<string, string>>;
  readonly totals: Readonly<Record<string, number>>;
}

for (const id of chosen)
  void describe(`${HOSTS[id].title} with a scripted model`, () => {
    const proven: string[] = [];
    let folder: string;
    let stage: Stage;
    let installation: Installation;
    let model: ModelServer;
    let script: ModelScript;
    let config: GuardConfig;

    before(async () => {
      const base = join(homedir(), '.cache/agentlens/stories');
      mkdirSync(base, { recursive: true });
      folder = mkdtempSync(join(base, `${HOSTS[id].prefix}-`));
      model = await startModelServer((request) => script(request));
      stage = { home: folder, project: join(folder, 'project'), modelUrl: model.url, binary: HOSTS[id].binary };
      prepareHome(id, stage);
      const env = stageEnv(id, stage, { ...process.env, PATH: `${bin}:${process.env.PATH}` });
      installation = { env, paths: guardPaths(env), runtime };
      const made = await operator<{ key: string }>('POST', '/api/keys', {
        name: id,
        scopes: ['ingest', 'decide'],
        agents: [id],
      });
      config = { url, key: made.key, content: 'full', killHost: false, hosts: {} };
      writeConfig(installation.paths, config);
      await operator('PUT', '/api/breakers/limits', {
        scope: 'agent',
        scopeId: id,
        limits: { maxIterations: 1_000, maxTokens: 1e9, maxCostUsd: 50 },
      });
      // A remote that a push reaches without a network.
      const git = (...words: string[]) =>
        execFileSync('git', words, { cwd: stage.project, env: { ...env, GIT_CONFIG_NOSYSTEM: '1' }, stdio: 'pipe' });
      execFileSync('git', ['init', '-q', '--bare', join(folder, 'remote.git')]);
      git('init', '-q', '-b', 'story');
      git('-c', 'user.name=dev', '-c', 'user.email=dev@example.com', 'commit', '-q', '--allow-empty', '-m', 'first');
      git('remote', 'add', 'origin', join(folder, 'remote.git'));
      mkdirSync(join(stage.project, 'gone'));
    });
    after(async () => {
      await stopResident(installation.paths);
      await model.close();
      rmSync(folder, { recursive: true, force: true });
      if (report !== '') writeFileSync(join(report, `${id}.json`), JSON.stringify({ host: id, proven }));
    });

    const play = async (
      commands: readonly string[],
      onTurn: (turn: number) => Promise<void> = async () => {},
      binary = stage.binary,
    ) => {
      let problem: unknown;
      script = async ({ turn }) => {
        // The host would only see a model that fails.
        await onTurn(turn).catch((error: unknown) => {
          problem = error;
        });
        const command = problem === undefined ? commands[turn] : undefined;
        return command === undefined
          ? { text: 'done' }
          : { calls: [{ name: SHELL_TOOLS[id], input: shellInput(id, command) }] };
      };
      const run = await runHost(id, { ...stage, binary }, PROMPT, { env: installation.env });
      if (problem !== undefined) throw problem;
      return run;
    };
    /** A sub-agent runs two commands; the order is given for its session after the first. */
    const playSubAgent = async (commands: readonly [string, string], order: () => Promise<void>) => {
      let problem: unknown = new Error('the sub-agent made no second call');
      const calls = subAgentCalls(id);
      script = async ({ turn, body }) => {
        if (body.includes(PROMPT)) return calls[turn] === undefined ? { text: 'done' } : { calls: [calls[turn]] };
        if (turn === 1)
          problem = await order().then(
            () => undefined,
            (error: unknown) => error,
          );
        const command = turn === 0 || problem === undefined ? commands[turn] : undefined;
        return command === undefined
          ? { text: 'done' }
          : { calls: [{ name: SHELL_TOOLS[id], input: shellInput(id, command) }] };
      };
      const run = await runHost(id, stage, PROMPT, { env: installation.env });
      if (problem !== undefined) throw problem;
      return run;
    };
    const made = (name: string) => existsSync(join(stage.project, name));
    const lastRun = () =>
      eventually(async () => {
        const { runs } = await operator<{ runs: Run[] }>('GET', `/api/runs?agentId=${id}&limit=1`);
        return runs[0];
      });
    /** Orders the newest session to pause or end. A sub-agent is stopped by the order for its session. */
    const orderSession = async (state: 'paused' | 'killed') => {
      const { id: runId, parentRunId } = await lastRun();
      const order = { scope: 'run', id: parentRunId ?? runId, state, reason: 'story', waitMs: 5_000 };
      await operator('POST', '/api/control', order);
    };

    void it('obeys, also while the guard is broken', async () => {
      const { checks, output } = await proveHost(installation, id);
      assert.deepEqual(
        checks.filter(({ ok }) => !ok),
        [],
        output,
      );
      proven.push('refuses', 'closed');
    });

    void it('plays the story: refused, approved, killed, off', async () => {
      const files = SETTINGS[id].map((name) => join(folder, name));
      const bytes = () => files.map((file) => (existsSync(file) ? readFileSync(file).toString('base64') : null));
      const untouched = bytes();
      const startedAt = Date.now();
      await installHost(installation, id, { ...DEFAULT_SETTINGS, mode: 'enforce', wait: 40 });
      const commands = ['echo a > first.txt', 'rm -rf gone', 'git push -q origin story', 'echo x > late.txt'];
      const playing = play(commands, async (turn) => {
        if (turn === 3) await orderSession('killed');
      });
      await decide(id, 'rm -rf gone', 'deny');
      await decide(id, 'git push', 'approve');
      const { output } = await playing;
      assert.deepEqual([made('first.txt'), made('gone'), made('late.txt')], [true, true, false], output);
      execFileSync('git', ['--git-dir', join(folder, 'remote.git'), 'rev-parse', 'story'], { stdio: 'pipe' });
      const run = await eventually(async () => {
        const found = await lastRun();
        return found.status === 'killed' ? found : undefined;
      });
      assert.ok((run.totals.toolCalls ?? 0) >= 2, JSON.stringify(run.totals));
      const filter = `agentId=${id}&tags=${encodeURIComponent('branch=story')}`;
      const { runs } = await operator<{ runs: Run[] }>('GET', `/api/runs?${filter}`);
      assert.ok(
        runs.some((one) => one.id === run.id),
        'the run is found by its branch',
      );
      const detail = await operator<Run>('GET', `/api/runs/${run.id}`);
      const { host, project, branch } = detail.runTags ?? {};
      assert.deepEqual({ host, project, branch }, { host: id, project: 'project', branch: 'story' });
      assert.ok((run.totals.inputTokens ?? 0) > 0, 'the tokens of the transcript were counted');
      proven.push('approval', 'kill', 'tokens');
      const audited = auditHost(id, installation.env, new Journal(installation.paths.journal), startedAt);
      assert.deepEqual(audited.findings, []);
      await uninstallHost(installation, id);
      assert.deepEqual(bytes(), untouched);
      proven.push('restored');
    });

    void it('uses an approval that came after the call was refused', async () => {
      writeConfig(installation.paths, config);
      await installHost(installation, id, { ...DEFAULT_SETTINGS, mode: 'enforce', wait: 1 });
      try {
        const push = 'git push -q origin story:late';
        const late = ['--git-dir', join(folder, 'remote.git'), 'rev-parse', '--verify', 'late'];
        const { output } = await play([push, push], async (turn) => {
          if (turn !== 1) return;
          assert.throws(() => execFileSync('git', late, { stdio: 'pipe' }), 'the first call was refused');
          await decide(id, 'story:late', 'approve');
        });
        assert.doesNotThrow(() => execFileSync('git', late, { stdio: 'pipe' }), output);
      } finally {
        await uninstallHost(installation, id);
      }
    });

    void it('stops a sub-agent with its session', async () => {
      writeConfig(installation.paths, config);
      if (id === 'codex') {
        mkdirSync(join(folder, '.codex'), { recursive: true });
        writeFileSync(join(folder, '.codex/config.toml'), '[features]\nmulti_agent_v2 = true\n');
      }
      await installHost(installation, id, { ...DEFAULT_SETTINGS, mode: 'enforce', wait: 5 });
      try {
        for (const state of ['paused', 'killed'] as const) {
          const names = [`sub-before-${state}.txt`, `sub-${state}.txt`] as const;
          const commands = [`echo a > ${names[0]}`, `echo a > ${names[1]}`] as const;
          const { output } = await playSubAgent(commands, () => orderSession(state));
          assert.deepEqual(names.map(made), [true, false], output);
        }
        const run = await lastRun();
        if (id !== 'gemini-cli' && id !== 'kimi-code') assert.ok(run.parentRunId, 'the sub-agent is a run of its own');
        proven.push('sub-agents');
      } finally {
        await uninstallHost(installation, id);
      }
    });

    void it('stops when its budget is spent', {
      skip: id === 'copilot-cli' ? 'it reports tokens at the end of a session' : false,
    }, async () => {
      writeConfig(installation.paths, config);
      await installHost(installation, id, { ...DEFAULT_SETTINGS, mode: 'enforce', wait: 5 });
      const limit = { name: `story ${id}`, scope: 'agent', scopeId: id, limitUsd: 0.000001, period: 'total' };
      const budget = await operator<{ id: string }>('POST', '/api/budgets', limit);
      try {
        const names = ['paid', 'lag-1', 'lag-2', 'lag-3', 'unpaid'];
        const { output } = await play(
          names.map((name) => `echo a > ${name}.txt`),
          // A host may write the tokens of a call down with the next one, so the budget may lag.
          (turn) => (turn === 0 ? Promise.resolve() : soon(() => isSpent(budget.id))),
        );
        assert.deepEqual([made('paid.txt'), made('unpaid.txt')], [true, false], output);
        proven.push('budget');
      } finally {
        await operator('DELETE', `/api/budgets/${budget.id}`);
        await uninstallHost(installation, id);
      }
    });

    const managed = MANAGED_HOSTS.find((one) => one === id);
    void it('obeys managed settings in a project that turns hooks off', {
      skip: managed === undefined ? 'it has no managed settings' : false,
    }, async () => {
      if (managed === undefined) return;
      writeConfig(installation.paths, config);
      const settings = { ...DEFAULT_SETTINGS, mode: 'enforce', wait: 5 } as const;
      const binary = managedMachine(managed, { home: folder, url, bundle, settings, binary: stage.binary });
      const { output } = await play(
        ['echo a > managed.txt', 'echo a > unmanaged.txt'],
        async (turn) => {
          if (turn === 1) await orderSession('killed');
        },
        binary,
      );
      assert.deepEqual(['managed.txt', 'unmanaged.txt'].map(made), [true, false], output);
      proven.push('managed');
    });
  });

/** The calls, one in each reply, with which a model of this host gives a task to a sub-agent and waits for it. */
function subAgentCalls(id: HostId): readonly ScriptedCall[] {
  const prompt = SUB_AGENT_PROMPT;
  const task = { description: 'd', prompt };
  switch (id) {
    case 'claude-code':
      return [{ name: 'Agent', input: { ...task, subagent_type: 'general-purpose', run_in_background: false } }];
    case 'codex': {
      const namespace = 'collaboration';
      return [
        { name: 'spawn_agent', namespace, input: { message: prompt, task_name: 'd', fork_turns: 'none' } },
        { name: 'wait_agent', namespace, input: { timeout_ms: DEADLINE_MS } },
      ];
    }
    case 'gemini-cli':
      return [{ name: 'invoke_agent', input: { agent_name: 'generalist', prompt } }];
    case 'qwen-code':
      return [{ name: 'agent', input: { ...task, subagent_type: 'general-purpose' } }];
    case 'copilot-cli':
      return [{ name: 'task', input: { ...task, agent_type: 'general-purpose', name: 'd' } }];
    case 'kimi-code':
      return [{ name: 'Agent', input: { ...task, subagent_type: 'coder' } }];
    case 'opencode':
      return [{ name: 'task', input: { ...task, subagent_type: 'general' } }];
  }
}

const SETTINGS: Readonly<Record<HostId, readonly string[]>> = {
  'claude-code': ['.claude/settings.json'],
  codex: ['.codex/hooks.json', '.codex/config.toml'],
  'gemini-cli': ['.gemini/settings.json'],
  'qwen-code': ['.qwen/settings.json'],
  'copilot-cli': ['.copilot/hooks/agentlens.json'],
  'kimi-code': ['.kimi-code/config.toml'],
  opencode: ['.config/opencode/plugins/agentlens.js'],
};

before(async () => {
  const rules = starterRules('enforce', [...HOST_IDS]);
  const path = '/api/rulesets/coding-agents';
  const { basis } = await operator<{ basis: object }>('POST', `${path}/plan`, { rules, prune: false });
  await operator('POST', `${path}/apply`, { rules, prune: false, basis, reason: 'stories' });
});
