import assert from 'node:assert/strict';
import { block, type Failure } from '@agentlens/sdk/testing';
import type { Scenario } from '../scenario.ts';
import { assertStopped, type World, write } from '../world.ts';

const turns = [[write('c1', '/tmp/a')], ['Done.']];

async function failsOpen(world: World, failure: Failure): Promise<void> {
  world.server.fail(failure);
  const { text, error } = await world.run({ turns, tools: [world.write] });
  assert.equal(error, undefined);
  assert.equal(text, 'Done.');
  assert.deepEqual(world.effects, ['/tmp/a']);
}

/** The server is reachable but cannot decide. */
async function failsClosed(world: World, failure: Failure): Promise<void> {
  world.server.fail(failure, (path) => path.endsWith('/evaluate'));
  world.server.rule({ phases: ['llm.before'], answer: block('never asked') });
  const { error } = await world.run({ turns, tools: [world.write] }, {}, { failMode: 'closed' });
  assertStopped(error);
  assert.deepEqual(world.effects, []);
  assert.deepEqual(world.statuses, ['interrupted']);
}

async function refusesNothing(world: World, mode: 'shadow' | 'off'): Promise<void> {
  world.server.rule({ tools: ['*write'], answer: block('no') });
  const { text } = await world.run({ turns, tools: [world.write] }, {}, { enforceMode: mode });
  assert.equal(text, 'Done.');
  assert.deepEqual(world.effects, ['/tmp/a']);
  assert.equal(world.events('tool.result').length, 1);
}

export const OUTAGES: readonly Scenario[] = [
  { name: 'continues while the server is down, failing open', play: (world) => failsOpen(world, 'down') },
  { name: 'continues while the server hangs, failing open', play: (world) => failsOpen(world, 'hang') },
  {
    name: 'stops while the server is down, failing closed',
    needsGuard: true,
    play: (world) => failsClosed(world, 'down'),
  },
  {
    name: 'stops while the server hangs, failing closed',
    needsGuard: true,
    play: (world) => failsClosed(world, 'hang'),
  },
  {
    name: 'rejects nothing in shadow mode, and records what it would have rejected',
    async play(world) {
      await refusesNothing(world, 'shadow');
      const [decision] = world.events('tool.decision');
      assert.deepEqual([decision?.data.verdict, decision?.data.enforced], ['BLOCK', false]);
    },
  },
  {
    name: 'requests no decision when it is off, and records the result',
    async play(world) {
      await refusesNothing(world, 'off');
      assert.equal(world.server.questions.length, 0);
    },
  },
];
