import assert from 'node:assert/strict';
import { allow, block, modify, terminate } from '@agentlens/sdk/testing';
import { TOKENS } from '../driver.ts';
import type { Scenario } from '../scenario.ts';
import { assertCalls, assertStopped, use, type World, write } from '../world.ts';

const REASON = 'Blocked by rule "Nothing under /etc"';

function forbidsEtc(world: World, answer = block(REASON)): void {
  world.server.rule({
    tools: ['*write'],
    when: ({ args }) => JSON.stringify(args).includes('/etc/'),
    answer: (question) => (question ? answer : allow()),
  });
}

async function oneOfTwoIsBlocked(world: World, stream: boolean): Promise<void> {
  forbidsEtc(world);
  const turns = [[write('c1', '/etc/passwd'), write('c2', '/tmp/a')], ['I wrote one of two.']];
  const { text, error, requests } = await world.run({ turns, tools: [world.write], stream });
  assert.deepEqual(world.effects, ['/tmp/a']);
  assert.equal(error, undefined);
  assert.equal(text, 'I wrote one of two.');
  assert.equal(requests.length, 2);
  assert.match(requests[1] ?? '', /Nothing under \/etc/, 'the model receives the reason');
  assert.match(requests[1] ?? '', /written: \/tmp\/a/);
  assertCalls(world, { c1: 'refused', c2: 'ran' });
  assert.deepEqual(world.statuses, ['success']);
}

async function endsTheRun(world: World, stream: boolean): Promise<void> {
  forbidsEtc(world, terminate(REASON));
  const turns = [[write('c1', '/etc/passwd')], ['I went on.'], ['I went on and on.']];
  const { error, requests } = await world.run({ turns, tools: [world.write], stream });
  assert.deepEqual(world.effects, []);
  assertStopped(error);
  assert.equal(error.message, REASON);
  assert.equal(requests.length, 1, 'no further model call');
  assertCalls(world, { c1: 'refused' });
  assert.deepEqual(world.statuses, ['interrupted']);
}

export const DECISIONS: readonly Scenario[] = [
  {
    name: 'records an allowed call and its model calls once, with exact tokens',
    proves: ['tools', 'model call'],
    needsGuard: true,
    async play(world) {
      const turns = [[write('c1', '/tmp/a')], ['Written.']];
      const { text, error } = await world.run({ turns, tools: [world.write], prompt: 'Write /tmp/a' });
      assert.equal(error, undefined);
      assert.equal(text, 'Written.');
      assert.deepEqual(world.effects, ['/tmp/a']);
      assertCalls(world, { c1: 'ran' });
      const tokens = world.events('llm.result').map(({ data }) => data.tokens as { in: number; out: number });
      assert.deepEqual(
        tokens.map(({ in: input, out }) => [input, out]),
        [
          [TOKENS.input, TOKENS.output],
          [TOKENS.input, TOKENS.output],
        ],
      );
      assert.deepEqual(world.messages('input').filter((text) => text.includes('Write /tmp/a')).length, 1);
      assert.equal(world.messages('output').length, 2, 'each response is one message');
      assert.equal(world.messages('output').at(-1), 'Written.');
      assert.equal(world.messages('tool_result').length, 1);
      assert.deepEqual(world.statuses, ['success']);
      const [started] = world.events('run.started');
      assert.ok(started);
      const { name } = started.data.adapter as { name: string };
      assert.ok(name.startsWith(world.driver.package), `the run names the adapter: ${name}`);
    },
  },
  {
    name: 'rejects one of two concurrent calls, gives the model the reason and continues',
    proves: ['tools'],
    needsGuard: true,
    play: (world) => oneOfTwoIsBlocked(world, false),
  },
  {
    name: 'rejects one of two concurrent calls in a stream',
    proves: ['tools'],
    needsGuard: true,
    play: (world) => oneOfTwoIsBlocked(world, true),
  },
  {
    name: 'ends the run on a terminating decision and reports it to the caller',
    proves: ['tools'],
    needsGuard: true,
    play: (world) => endsTheRun(world, false),
  },
  {
    name: 'ends a stream on a terminating decision and reports it to the reader',
    proves: ['tools'],
    needsGuard: true,
    play: (world) => endsTheRun(world, true),
  },
  {
    name: 'makes no model call that a rule blocks',
    proves: ['model call'],
    needsGuard: true,
    async play(world) {
      world.server.rule({ phases: ['llm.before'], answer: terminate('Budget spent') });
      const { error, requests } = await world.run({ turns: [['Hello.']], tools: [world.write] });
      assertStopped(error);
      assert.equal(requests.length, 0);
      assert.deepEqual(world.statuses, ['interrupted']);
    },
  },
  {
    name: 'calls the tool with changed arguments',
    proves: ['changed arguments'],
    needsGuard: true,
    async play(world) {
      world.server.rule({ tools: ['*write'], answer: modify({ path: '/tmp/safe' }) });
      const turns = [[write('c1', '/etc/passwd')], ['Done.']];
      const { text } = await world.run({ turns, tools: [world.write] });
      assert.deepEqual(world.effects, ['/tmp/safe']);
      assert.equal(text, 'Done.');
    },
  },
  {
    name: 'withholds a result from the model',
    proves: ['withheld result'],
    needsGuard: true,
    async play(world) {
      world.server.rule({ tools: ['*read'], phases: ['tool.after'], answer: block('The result holds a secret') });
      const read = world.tool('read', () => 'password hunter2');
      const { text, requests } = await world.run({ turns: [[use('c1', 'read')], ['Done.']], tools: [read] });
      assert.equal(text, 'Done.');
      assert.doesNotMatch(requests[1] ?? '', /hunter2/);
      assert.match(requests[1] ?? '', /The result holds a secret/);
    },
  },
  {
    name: 'rejects arguments that are too large to be checked',
    async play(world) {
      const turns = [[write('c1', `/tmp/${'x'.repeat(3_000)}`)], ['Done.']];
      const { text, requests } = await world.run({ turns, tools: [world.write] }, {}, { maxArgumentChars: 1_000 });
      assert.deepEqual(world.effects, []);
      assert.match(requests[1] ?? '', /too large/);
      assert.equal(text, 'Done.');
    },
  },
];
