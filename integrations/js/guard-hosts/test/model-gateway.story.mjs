// Real coding agents call their model through the gateway: they answer, are refused once, and obey a kill.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { blockAgent, openWorld, until } from '../../../../interop/model-gateway/gateway-world.mjs';
import { beginStream, SAID, say } from '../../../../libs/testing/src/fake-provider.ts';
import { prepareHome, stageEnv, stageWords } from '../../guard/src/doctor/drive.ts';

const { AGENTLENS_KIT_URL: url, AGENTLENS_KIT_KEY: key, GUARD_HOSTS_BIN: bin, GUARD_HOSTS: chosen = '' } = process.env;
const LONGEST_MS = 90_000;

const HOSTS = {
  'claude-code': {
    binary: 'claude',
    path: '/gw/anthropic',
    ask: '/gw/anthropic/v1/messages',
    key: 'ANTHROPIC_AUTH_TOKEN',
  },
  codex: { binary: 'codex', path: '/gw/openai/v1', ask: '/gw/openai/v1/responses', key: 'SCRIPTED_KEY' },
};

const wanted = Object.entries(HOSTS).filter(([id]) => chosen === '' || chosen.split(',').includes(id));

void describe('through the model gateway', () => {
  let world;
  before(async () => {
    world = await openWorld({ url, key });
  });
  after(() => world?.stop());

  /** Decisions of the agent, newest first. Asking comes before the answer, and the record a moment later. */
  const decisions = async (agent) => (await world.api('GET', `/api/decisions?agentId=${agent}&limit=100`)).decisions;

  for (const [id, host] of wanted) {
    void describe(id, () => {
      const folders = [];
      after(() => {
        for (const folder of folders) rmSync(folder, { recursive: true, force: true });
      });

      const play = async (agent) => {
        const folder = mkdtempSync(join(tmpdir(), 'agentlens-gateway-'));
        folders.push(folder);
        const stage = { home: join(folder, 'home'), project: join(folder, 'project'), modelUrl: `${url}${host.path}` };
        prepareHome(id, stage);
        mkdirSync(join(stage.home, '.codex'), { recursive: true });
        const { ANTHROPIC_API_KEY: _, ...env } = stageEnv(id, stage, process.env);
        env[host.key] = await world.keyOf(agent);
        const words = stageWords(id, stage, 'What is the answer?');
        const child = spawn(join(bin, host.binary), words, {
          cwd: stage.project,
          env,
          stdio: ['ignore', 'pipe', 'pipe'],
        });
        let printed = '';
        for (const output of [child.stdout, child.stderr]) {
          output.on('data', (text) => {
            printed += text;
          });
        }
        const late = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
        const code = await new Promise((resolve) => child.once('close', resolve));
        clearTimeout(late);
        return { code, printed };
      };

      void it('answers', async () => {
        world.provider.answer(say(SAID));
        const { printed } = await play(`${id}-plain`);
        assert.match(printed, /The answer is 42\./);
        assert.equal(world.provider.requests.at(-1).headers.authorization?.includes('agk_') ?? false, false);
      });

      void it('shows the message of a rule, after one request', async () => {
        const agent = `${id}-blocked`;
        const agentKey = await world.keyOf(agent);
        await blockAgent(world, agent, async () => {
          const answer = await fetch(`${url}${host.ask}`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${agentKey}`,
              'content-type': 'application/json',
              'x-agentlens-run': 'probe',
            },
            body: JSON.stringify({ model: 'm', input: 'x', messages: [{ role: 'user', content: 'x' }] }),
          });
          await answer.arrayBuffer();
          return answer.status;
        });
        const asked = world.provider.requests.length;
        const { printed } = await play(agent);
        assert.match(printed, /Calls of this agent are not allowed/);
        assert.equal(world.provider.requests.length, asked);
        await until(async () => (await decisions(agent)).some(({ runId }) => runId !== 'probe'));
        assert.equal((await decisions(agent)).filter(({ runId }) => runId !== 'probe').length, 1);
      });

      void it('ends when its run is killed inside an answer, after at most one further request that costs nothing', async () => {
        const agent = `${id}-killed`;
        world.provider.answer(beginStream(['One ', 'two']));
        const asked = world.provider.requests.length;
        const killing = until(async () => world.provider.requests.length > asked).then(async () => {
          await until(async () => (await decisions(agent)).length > 0);
          const [{ runId }] = await decisions(agent);
          await world.api('POST', '/api/control', {
            scope: 'run',
            scopeId: runId,
            state: 'killed',
            reason: 'Enough',
            waitMs: 0,
          });
        });
        const [{ code, printed }] = await Promise.all([play(agent), killing]);
        assert.notEqual(code, 0);
        assert.match(printed, /Enough/);
        assert.equal(world.provider.requests.length - asked, 1);
        const refused = (await decisions(agent)).filter(({ verdict }) => verdict === 'BLOCK');
        assert.ok(refused.length <= 1, `${refused.length} further requests`);
      });
    });
  }
});
