import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import type { Child } from './shapes.ts';
import { KillableProcess } from './spawn-killable.ts';

const ENV = { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'theirs', AGENTLENS_API_KEY: 'ours' };

void describe('the process of the Claude Agent SDK', () => {
  void it('gets its environment without the variables of AgentLens', async () => {
    const args = ['-e', 'console.log(Object.keys(process.env).filter((name) => name.endsWith("_API_KEY")).join())'];
    const child = new KillableProcess({}).spawn({ command: process.execPath, args, env: ENV }) as Child;
    assert.ok(child.stdout);
    assert.equal(await text(child.stdout), 'ANTHROPIC_API_KEY\n');
  });

  void it("gets it also by the user's own means", () => {
    let given: NodeJS.ProcessEnv = {};
    const own = (options: { env: NodeJS.ProcessEnv }) => {
      given = options.env;
      return {};
    };
    new KillableProcess({ spawnClaudeCodeProcess: own }).spawn({ command: 'claude', args: [], env: ENV });
    assert.deepEqual(Object.keys(given), ['PATH', 'ANTHROPIC_API_KEY']);
  });
});
