import assert from 'node:assert/strict';
import { needApproval } from '@agentlens/sdk/testing';
import type { Scenario } from '../scenario.ts';
import { assertCalls, assertStopped, type World, write } from '../world.ts';

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
    name: "ends the loop with the approval's id if waiting is disabled",
    needsGuard: true,
    async play(world) {
      world.server.rule({ tools: ['*write'], answer: needApproval() });
      const turns = [[write('c1', '/tmp/a')], ['I went on.']];
      const { error, requests } = await world.run({ turns, tools: [world.write] });
      assertStopped(error);
      const { cause } = (error as Error & { decision: { cause: object } }).decision;
      assert.deepEqual(cause, { kind: 'HITL_PENDING', approvalId: 'approval-1', ruleId: 'test' });
      assert.deepEqual(world.effects, []);
      assert.equal(requests.length, 1);
      assertCalls(world, { c1: 'refused' });
    },
  },
];
