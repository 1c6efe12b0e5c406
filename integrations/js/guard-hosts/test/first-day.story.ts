import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { prepareHome, runHost, SHELL_TOOLS, shellInput, type Stage, stageEnv } from '../../guard/src/doctor/drive.ts';
import { type ModelServer, startModelServer } from '../../guard/src/doctor/model-server.ts';
import { HOST_IDS } from '../../guard/src/hosts/host.ts';
import { HOSTS } from '../../guard/src/hosts/index.ts';
import { starterRules } from '../../guard/src/starter-rules.ts';

/* The first day of a user, with the packed command line: install, observe, look, enforce. */

const {
  AGENTLENS_KIT_URL: url = '',
  AGENTLENS_KIT_KEY: key = '',
  GUARD_HOSTS_BIN: bin = '',
  GUARD_HOSTS_BUNDLE: bundle = '',
} = process.env;
assert.ok(url !== '' && key !== '' && bin !== '', 'run this with: npm run test:hosts');

const command = join(dirname(bundle), '../bin/agentlens.js');
const chosen = (['claude-code', 'codex'] as const).filter(
  (id) => (process.env.GUARD_HOSTS ?? '') === '' || process.env.GUARD_HOSTS?.split(',').includes(id),
);
const DEADLINE_MS = 60_000;
const EVERY_MS = 200;

/** Starter rules as `guard setup` makes them on a new platform. */
async function observeOnly(): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const send = async (path: string, body: object) => {
    const answer = await fetch(`${url}/api/rulesets/coding-agents/${path}`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(DEADLINE_MS) },
    });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return (await answer.json()) as { basis: object };
  };
  const wanted = { rules: starterRules('shadow', [...HOST_IDS]), prune: false };
  const { basis } = await send('plan', wanted);
  await send('apply', { ...wanted, basis, reason: 'story' });
}

for (const id of chosen)
  void describe(`the first day with ${HOSTS[id].title}`, () => {
    let folder: string;
    let stage: Stage;
    let model: ModelServer;
    // Codex itself rejects `rm -f`.
    const line = 'rm -r gone';

    before(async () => {
      await observeOnly();
      const base = join(homedir(), '.cache/agentlens/stories');
      mkdirSync(base, { recursive: true });
      folder = mkdtempSync(join(base, 'day-'));
      model = await startModelServer(({ turn }) =>
        turn === 0 ? { calls: [{ name: SHELL_TOOLS[id], input: shellInput(id, line) }] } : { text: 'done' },
      );
      stage = { home: folder, project: join(folder, 'project'), modelUrl: model.url, binary: HOSTS[id].binary };
      prepareHome(id, stage);
    });
    after(async () => {
      await agentlens('guard', 'stop');
      await model.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const environment = () => stageEnv(id, stage, { ...process.env, PATH: `${bin}:${process.env.PATH}` });
    const agentlens = (...words: string[]) =>
      new Promise<string>((resolve, reject) => {
        const env = { ...environment(), AGENTLENS_URL: url, AGENTLENS_API_KEY: key };
        execFile(process.execPath, [command, ...words], { env, cwd: folder }, (error, stdout, stderr) => {
          if (error === null) resolve(stdout + stderr);
          else reject(new Error(`agentlens ${words.join(' ')}: ${stdout}${stderr}`));
        });
      });
    /** A change of a rule reaches the evaluator a moment later. */
    const untilEnforced = async () => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({
        ...{ phase: 'tool.before', agentId: id, args: { command: line } },
        tool: { name: 'shell', tags: ['shell', 'destructive'] },
      });
      for (const until = performance.now() + DEADLINE_MS; ; await wait(EVERY_MS)) {
        const signal = AbortSignal.timeout(DEADLINE_MS);
        const answer = await fetch(`${url}/v1/runs/${id}-probe/evaluate`, { method: 'POST', headers, body, signal });
        const { verdict } = (await answer.json()) as { verdict?: string };
        if (verdict === 'BLOCK') return;
        assert.ok(performance.now() < until, 'the rule does not act');
      }
    };
    const play = async () => {
      mkdirSync(join(stage.project, 'gone'), { recursive: true });
      const { output } = await runHost(id, stage, 'Follow the instructions.', { env: environment() });
      return { ran: !existsSync(join(stage.project, 'gone')), output };
    };

    void it('observes, shows what would have been stopped, and refuses once enforced', async () => {
      await agentlens('guard', 'setup');
      await agentlens('guard', id, '--yes');
      const observed = await play();
      assert.ok(observed.ran, observed.output);
      for (const until = performance.now() + DEADLINE_MS; ; await wait(EVERY_MS)) {
        const seen = await agentlens(
          'decisions',
          'list',
          '--agent',
          id,
          '--would-have',
          'ask,block,terminate',
          '--json',
        );
        if ((JSON.parse(seen) as unknown[]).length > 0) break;
        assert.ok(performance.now() < until, 'no decision says what would have been stopped');
      }
      assert.match(
        await agentlens('guard', id, '--yes', '--enforce', '--wait', '1'),
        /starter rules only record.*\n.*\n.*guard enforce/,
      );
      assert.match(await agentlens('guard', 'enforce', 'destructive'), /act from now on: destructive/);
      await untilEnforced();
      const enforced = await play();
      assert.ok(!enforced.ran, enforced.output);
      await agentlens('guard', 'off', '--all');
    });
  });
