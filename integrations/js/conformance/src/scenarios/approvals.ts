import assert from 'node:assert/strict';
import { needApproval } from '@agentlens/sdk/testing';
import type { Scenario } from '../scenario.ts';
import { use, type World, write } from '../world.ts';

function asksHuman(world: World, decide: (world: World) => void): void {
  world.server.rule({ tools: ['*write'], answer: needApproval('two-eyes', 'A person has to look at this') });
  // Decide as soon as the approval is pending.
  world.server.answer(() => {
    queueMicrotask(() => {
      if (world.server.approvals.pending.length > 0) decide(world);
    });
    return undefined;
  });
}

const WAIT = { waitForApproval: { timeoutMs: 5_000, pollMs: 5 } };

export const APPROVALS: readonly Scenario[] = [
  {
    name: 'makes a call after a human approved it',
    needsGuard: true,
    async play(world) {
      asksHuman(world, ({ server }) => server.approvals.approve());
      const turns = [[write('c1', '/tmp/a')], ['Written.']];
      const { text } = await world.run({ turns, tools: [world.write] }, WAIT);
      assert.equal(text, 'Written.');
      assert.deepEqual(world.effects, ['/tmp/a']);
      assert.deepEqual(
        world.server.approvals.all.map(({ status }) => status),
        ['approved'],
      );
      assert.equal(world.events('tool.result').length, 1);
    },
  },
  {
    name: 'does not make a call that a human denied, and gives the model the reason',
    needsGuard: true,
    async play(world) {
      asksHuman(world, ({ server }) => server.approvals.deny(undefined, 'not on a Friday'));
      const turns = [[write('c1', '/tmp/a')], ['Not written.']];
      const { text, requests } = await world.run({ turns, tools: [world.write] }, WAIT);
      assert.equal(text, 'Not written.');
      assert.deepEqual(world.effects, []);
      assert.match(requests[1] ?? '', /not on a Friday/);
    },
  },
  {
    name: 'requires a separate approval for each call',
    needsGuard: true,
    async play(world) {
      asksHuman(world, ({ server }) => {
        for (const { id, args } of server.approvals.pending)
          if (JSON.stringify(args).includes('/tmp/a')) server.approvals.approve(id);
          else server.approvals.deny(id);
      });
      const turns = [[write('c1', '/tmp/a')], [write('c2', '/tmp/b')], ['Done.']];
      const { text } = await world.run({ turns, tools: [world.write] }, WAIT);
      assert.equal(text, 'Done.');
      assert.deepEqual(world.effects, ['/tmp/a']);
      assert.equal(world.server.approvals.all.length, 2);
    },
  },
  {
    name: 'waits for a person by default',
    needsGuard: true,
    async play(world) {
      asksHuman(world, ({ server }) => server.approvals.approve());
      const turns = [[write('c1', '/tmp/a')], ['Written.']];
      const { text } = await world.run({ turns, tools: [world.write] });
      assert.equal(text, 'Written.');
      assert.deepEqual(world.effects, ['/tmp/a']);
      assert.deepEqual(
        world.server.approvals.all.map(({ status }) => status),
        ['approved'],
      );
    },
  },
  {
    name: 'goes on while a call waits for a person, and uses the approval that comes later',
    needsGuard: true,
    async play(world) {
      world.server.rule({ tools: ['*write'], answer: needApproval('two-eyes', 'A person has to look at this') });
      const look = world.tool('look', () => {
        world.server.approvals.approve();
        return 'seen';
      });
      const turns = [[write('c1', '/tmp/a')], [use('c2', 'look')], [write('c3', '/tmp/a')], ['Written.']];
      const tools = [world.write, look];
      const { text, error, requests } = await world.run({ turns, tools }, { waitForApproval: false });
      assert.equal(error, undefined);
      assert.equal(text, 'Written.');
      assert.match(requests[1] ?? '', /approval-1/);
      assert.match(requests[1] ?? '', /waits for a person and has not happened\. Do not repeat it/);
      assert.deepEqual(world.effects, ['/tmp/a'], 'the repeated call is the one that was approved');
      assert.deepEqual(
        world.server.approvals.all.map(({ status }) => status),
        ['approved'],
      );
      assert.equal(world.events('tool.result').length, 2);
      assert.deepEqual(world.statuses, ['success']);
    },
  },
  {
    name: 'uses an approval for one call only',
    needsGuard: true,
    async play(world) {
      world.server.rule({ tools: ['*write'], answer: needApproval() });
      const look = world.tool('look', () => {
        world.server.approvals.approve();
        return 'seen';
      });
      const turns = [
        [write('c1', '/tmp/a')],
        [use('c2', 'look')],
        [write('c3', '/tmp/a')],
        [write('c4', '/tmp/a')],
        ['Done.'],
      ];
      const { text } = await world.run({ turns, tools: [world.write, look] }, { waitForApproval: false });
      assert.equal(text, 'Done.');
      assert.deepEqual(world.effects, ['/tmp/a']);
      assert.deepEqual(
        world.server.approvals.all.map(({ status }) => status),
        ['approved', 'pending'],
      );
    },
  },
];
