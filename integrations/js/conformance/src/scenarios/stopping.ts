import assert from 'node:assert/strict';
import type { Scenario } from '../scenario.ts';
import { use, type World, write } from '../world.ts';

/** Resolves when `signal` is aborted. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Resolves when the agent's process has acknowledged the order. */
async function acknowledged({ server }: World): Promise<void> {
  while (server.control.acknowledgements.length === 0) await new Promise((resolve) => setImmediate(resolve));
}

async function killedInTool(world: World, stream: boolean): Promise<void> {
  const slow = world.tool('slow', async () => {
    const [run] = world.server.runs;
    if (run !== undefined) {
      world.server.control.kill(run.id, 'enough');
      await acknowledged(world);
    }
    return 'slow is done';
  });
  const turns = [[use('c1', 'slow')], [write('c2', '/tmp/a')], ['Done.']];
  const { requests } = await world.run({ turns, tools: [slow, world.write], stream });
  assert.deepEqual(world.effects, [], 'no further tool');
  assert.equal(requests.length, 1, 'no further model call');
  assert.deepEqual(world.statuses, ['interrupted']);
}

export const STOPPING: readonly Scenario[] = [
  {
    name: 'makes no further call after an operator kills the run during a tool call',
    proves: ['kill'],
    needsGuard: true,
    play: (world) => killedInTool(world, false),
  },
  {
    name: 'makes no further call after an operator kills a streamed run during a tool call',
    proves: ['kill'],
    needsGuard: true,
    play: (world) => killedInTool(world, true),
  },
  {
    name: 'ends the run as interrupted if the caller aborts during a tool call',
    async play(world) {
      const caller = new AbortController();
      const slow = world.tool('slow', async (_, signal) => {
        caller.abort();
        if (signal !== undefined) await aborted(signal);
        return 'slow is done';
      });
      const turns = [[use('c1', 'slow')], [write('c2', '/tmp/a')], ['Done.']];
      const agent = { turns, tools: [slow, world.write], signal: caller.signal };
      await world.run(agent);
      assert.deepEqual(world.effects, []);
      assert.deepEqual(world.statuses, ['interrupted']);
      assert.equal(world.events('tool.result').length, 1);
    },
  },
  {
    name: 'does not begin if the run was stopped before',
    needsGuard: true,
    async play(world) {
      world.server.lockdown = { active: true, kind: 'killed', reason: 'not today' };
      const { error, requests } = await world.run({
        turns: [[write('c1', '/tmp/a')], ['Done.']],
        tools: [world.write],
      });
      assert.match(String(error), /not today/);
      assert.deepEqual(world.effects, []);
      assert.equal(requests.length, 0);
    },
  },
];
