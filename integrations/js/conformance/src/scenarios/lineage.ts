import assert from 'node:assert/strict';
import { block } from '@agentlens/sdk/testing';
import { TOKENS } from '../driver.ts';
import type { Scenario } from '../scenario.ts';
import { use, type World, write } from '../world.ts';

const HELPER = 'helper';

function agents(world: World) {
  return {
    outer: { turns: [[use('h1', HELPER, { input: 'Write it' })], ['The helper is done.']], tools: [] },
    inner: {
      turns: [[write('c1', '/etc/passwd'), write('c2', '/tmp/a')], ['I could write one.']],
      tools: [world.write],
    },
  };
}

function forbidsEtc(world: World): void {
  const isEtc = (args: unknown) => JSON.stringify(args).includes('/etc/');
  world.server.rule({ tools: ['*write'], when: ({ args }) => isEtc(args), answer: block('Not there') });
}

export const LINEAGE: readonly Scenario[] = [
  {
    name: 'guards a sub-agent as a child run of its tool call',
    proves: ['sub-agents'],
    needsGuard: true,
    async play(world) {
      forbidsEtc(world);
      const { text, error } = await world.nested(agents(world));
      assert.equal(error, undefined);
      assert.equal(text, 'The helper is done.');
      assert.deepEqual(world.effects, ['/tmp/a']);
      const { runs } = world.server;
      assert.equal(runs.length, 2, `one run per agent: ${JSON.stringify(runs)}`);
      const child = runs.find(({ start }) => start.parentRunId !== undefined);
      const parent = runs.find((run) => run !== child);
      assert.equal(child?.start.parentRunId, parent?.id);
      const call = world.events('tool.decision').find(({ runId }) => runId === parent?.id);
      assert.equal(child?.start.parentToolUseId, call?.data.callId);
      const inner = world.events('tool.decision').filter(({ runId }) => runId === child?.id);
      assert.equal(inner.length, 2, "the sub-agent's calls belong to its own run");
      assert.deepEqual(world.statuses, ['success', 'success']);
    },
  },
  {
    name: 'records every model call of a sub-agent with its tokens',
    proves: ['sub-agents'],
    needsGuard: true,
    async play(world) {
      const { outer, inner } = agents(world);
      await world.nested({ outer, inner });
      const calls = world.events('llm.result').map(({ runId, data }) => [runId, data.tokens]);
      const { runs } = world.server;
      const child = runs.find(({ start }) => start.parentRunId !== undefined)?.id;
      const used = (tokens: unknown) => tokens as { in?: number; out?: number };
      assert.deepEqual(
        [outer.turns.length, inner.turns.length],
        [calls.filter(([runId]) => runId !== child).length, calls.filter(([runId]) => runId === child).length],
        'model calls of the agent and of its sub-agent',
      );
      for (const [, tokens] of calls)
        assert.deepEqual([used(tokens).in, used(tokens).out], [TOKENS.input, TOKENS.output]);
    },
  },
  {
    name: 'does not call a sub-agent that a rule blocks',
    proves: ['sub-agents'],
    needsGuard: true,
    async play(world) {
      world.server.rule({ tools: [world.driver.subAgentTool ?? `*${HELPER}`], answer: block('No helpers') });
      const { requests } = await world.nested(agents(world));
      assert.deepEqual(world.effects, []);
      assert.equal(requests.length, 2, 'the model of the sub-agent is not called');
      assert.equal(world.server.runs.length, 1);
    },
  },
  {
    name: 'guards an agent after a hand-off',
    proves: ['sub-agents'],
    needsGuard: true,
    async play(world) {
      forbidsEtc(world);
      const { text } = await world.handOff(agents(world));
      assert.equal(text, 'I could write one.');
      assert.deepEqual(world.effects, ['/tmp/a']);
    },
  },
];
