import assert from 'node:assert/strict';
import { withRun } from '@agentlens/sdk';
import { block } from '@agentlens/sdk/testing';
import type { Scenario } from '../scenario.ts';
import { assertCalls, use, write } from '../world.ts';

const message = (error: unknown) => (error instanceof Error ? error.message : error);

export const BEHAVIOUR: readonly Scenario[] = [
  {
    name: 'leaves a throwing tool to the framework, exactly as without a guard',
    async play(world) {
      const failing = world.tool('fail', () => {
        throw new Error('disk full');
      });
      const agent = { turns: [[use('c1', 'fail')], ['It failed.']], tools: [failing] };
      const bare = await world.driver.run(world.driver.framework, agent);
      const guarded = await world.run(agent);
      assert.equal(guarded.text, bare.text);
      assert.equal(message(guarded.error), message(bare.error));
      assert.equal(guarded.requests[1], bare.requests[1], 'the model receives the same');
      const [result] = world.events('tool.result');
      assert.equal(result?.data.outcome, 'error');
      assert.match(JSON.stringify(result?.data.error), /disk full/);
      assert.equal(world.events('tool.result').length, 1);
    },
  },
  {
    name: 'passes on a model error, exactly as without a guard',
    async play(world) {
      const agent = { turns: [new Error('model overloaded')], tools: [world.write] };
      const bare = await world.driver.run(world.driver.framework, agent);
      const guarded = await world.run(agent);
      assert.equal(message(guarded.error), message(bare.error));
      assert.equal(guarded.text, bare.text);
      const results = world.events('llm.result');
      assert.ok(results.length > 0, 'a failed call is recorded');
      assert.ok(results.every(({ data }) => data.outcome === 'error'));
      assert.deepEqual(world.statuses, ['error']);
    },
  },
  {
    name: 'passes on a tool that streams its result',
    async play(world) {
      const parts = async function* () {
        yield 'half';
        yield 'whole';
      };
      const { text, requests } = await world.run({
        turns: [[use('c1', 'count')], ['Counted.']],
        tools: [{ name: 'count', parts }],
      });
      assert.equal(text, 'Counted.');
      assert.match(requests[1] ?? '', /whole/);
      assertCalls(world, { c1: 'ran' });
    },
  },
  {
    name: 'sends events during the run without waiting for more',
    async play(world) {
      const seen: string[] = [];
      // Each call waits until the platform has the earlier events.
      const look = world.tool('look', async ({ path }) => {
        await world.arrived('tool.decision', seen.length + 1);
        await world.arrived('llm.result', seen.length + 1);
        await world.arrived('tool.result', seen.length);
        seen.push(String(path));
        return 'seen';
      });
      const turns = [[use('c1', 'look', { path: 'a' })], [use('c2', 'look', { path: 'b' })], ['Done.']];
      const { text, error } = await world.run({ turns, tools: [look] });
      assert.equal(error, undefined);
      assert.equal(text, 'Done.');
      assert.deepEqual(seen, ['a', 'b']);
    },
  },
  {
    name: 'isolates two concurrent runs',
    needsGuard: true,
    async play(world) {
      world.server.rule({
        tools: ['*write'],
        when: ({ args }) => JSON.stringify(args).includes('/etc/'),
        answer: block('no'),
      });
      const framework = await world.guarded();
      const agent = (path: string) => ({ turns: [[write('c1', path)], [`About ${path}.`]], tools: [world.write] });
      const [one, other] = await Promise.all([
        world.driver.run(framework, agent('/tmp/a')),
        world.driver.run(framework, agent('/etc/b')),
      ]);
      assert.deepEqual([one?.text, other?.text], ['About /tmp/a.', 'About /etc/b.']);
      assert.deepEqual(world.effects, ['/tmp/a']);
      assert.equal(world.server.runs.length, 2);
      for (const { id } of world.server.runs)
        assert.equal(world.events('tool.decision').filter(({ runId }) => runId === id).length, 1);
    },
  },
  {
    name: "works inside the user's own run without ending it",
    async play(world) {
      const lens = await world.client();
      const run = await lens.startRun({ runId: 'own' });
      const turns = [[write('c1', '/tmp/a')], ['Written.']];
      const { text } = await withRun(run, () => world.run({ turns, tools: [world.write] }));
      assert.equal(text, 'Written.');
      assert.deepEqual(
        world.server.runs.map(({ id, status }) => [id, status]),
        [['own', 'running']],
      );
      await run.end();
      assertCalls(world, { c1: 'ran' });
    },
  },
  {
    name: "calls the user's own hooks, which do not displace it",
    proves: ['tools'],
    needsGuard: true,
    async play(world) {
      world.server.rule({ tools: ['*write'], answer: block('no') });
      const ownHooks: string[] = [];
      const turns = [[write('c1', '/tmp/a'), use('c2', 'look')], ['Done.']];
      const look = world.tool('look', () => 'seen');
      const { text } = await world.run({ turns, tools: [world.write, look], ownHooks });
      assert.equal(text, 'Done.');
      assert.deepEqual(world.effects, []);
      assert.ok(ownHooks.length > 0, "the user's hooks are called");
    },
  },
  {
    name: 'follows a change of the model during a run',
    proves: ['model call'],
    async play(world) {
      const turns = [[write('c1', '/tmp/a')], ['Done.']];
      const { text } = await world.run({ turns, tools: [world.write], swapModel: true });
      assert.equal(text, 'Done.');
      assert.equal(world.events('llm.result').length, 2);
    },
  },
  {
    name: 'observes a tool that the provider runs, without requesting a decision',
    proves: ['provider tools'],
    async play(world) {
      const search = { ...use('c1', 'web_search', { query: 'weather' }), providerResult: 'sunny' };
      const { text } = await world.run({ turns: [[search, 'It is sunny.']], tools: [world.write] });
      assert.equal(text, 'It is sunny.');
      assert.equal(world.events('tool.decision').length, 0);
      const [result] = world.events('tool.result');
      assert.deepEqual(result?.data.tool, { name: 'web_search', categories: ['provider-executed'] });
    },
  },
  {
    name: 'sends the model only redacted messages',
    needsGuard: true,
    async play(world) {
      const clean = (text: string) => text.replaceAll('4111-1111', '[card]');
      const { requests } = await world.run({ turns: [['Paid.']], tools: [], prompt: 'Pay with 4111-1111' }, undefined, {
        redactMessage: (given) => ({
          ...given,
          content:
            typeof given.content === 'string' ? clean(given.content) : JSON.parse(clean(JSON.stringify(given.content))),
        }),
      });
      assert.match(requests[0] ?? '', /Pay with \[card\]/);
      assert.doesNotMatch(requests.join(''), /4111/);
      assert.doesNotMatch(JSON.stringify(world.server.events), /4111/);
    },
  },
  {
    name: 'rejects a misspelled option and suggests the right one',
    async play(world) {
      await assert.rejects(world.guarded({ waitforapproval: true } as object), /waitForApproval/);
    },
  },
  {
    name: 'only observes an unknown framework, with a warning',
    async play(world) {
      world.server.rule({ tools: ['*write'], answer: block('no') });
      const unknown = { ...world.driver.framework, [Symbol.toStringTag]: 'Module' } as Record<string, unknown>;
      const [mark] = world.driver.marks;
      assert.ok(mark);
      delete unknown[mark];
      const guarded = world.driver.guard(await world.client(), unknown);
      assert.match(world.warnings.join('\n'), /observed, none is refused/);
      const turns = [[write('c1', '/tmp/a')], ['Written.']];
      await world.driver.run({ ...world.driver.framework, ...guarded }, { turns, tools: [world.write] });
      assert.deepEqual(world.effects, ['/tmp/a']);
      const [decision] = world.events('tool.decision');
      assert.deepEqual([decision?.data.verdict, decision?.data.enforced], ['BLOCK', false]);
    },
  },
  {
    name: 'sends the configured tags and subjects of calls',
    async play(world) {
      const turns = [[write('c1', '/tmp/a')], ['Written.']];
      await world.run(
        { turns, tools: [world.write] },
        {
          tags: { [world.driver.named?.('write') ?? 'write']: ['destructive'] },
          subjects: ({ args }) => [{ subjectType: 'file', value: String((args as { path: string }).path) }],
          run: () => ({ actor: { externalId: 'ada' }, sessionId: 's1', tags: { team: 'x' } }),
        },
      );
      const [question] = world.server.questions.filter(({ phase }) => phase === 'tool.before');
      assert.deepEqual(question?.tool?.tags, ['destructive']);
      assert.deepEqual(question?.subjects, [{ subjectType: 'file', value: '/tmp/a' }]);
      assert.equal(question?.actor?.externalId, 'ada');
      assert.equal(world.server.runs[0]?.start.sessionId, 's1');
    },
  },
];
