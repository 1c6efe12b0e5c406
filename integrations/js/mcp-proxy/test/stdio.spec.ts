import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { block, modify, needApproval, terminate } from '@agentlens/sdk/testing';
import { Report } from '../../conformance/src/report.ts';
import { type Generation, McpWorld, type TestClient, type ToolResult } from './mcp-world.ts';

const GENERATIONS: readonly [Generation, string][] = [
  ['v1', '@modelcontextprotocol/sdk 1.32, protocol 2025-11-25'],
  ['v2', '@modelcontextprotocol/client and server 2.4, protocol 2026-07-28'],
];

const TOOLS = ['write', 'slow', 'fail', 'keys', 'kit_blocked', 'kit_ended', 'kit_asked', 'kit_free'];
const textOf = ({ content }: ToolResult) => content.map(({ text }) => text).join('');
const write = (client: TestClient, path: string) => client.call('write', { path });

interface Scenario {
  readonly name: string;
  readonly proves?: readonly string[];
  readonly play: (world: McpWorld) => Promise<void>;
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'passes on an allowed call, and records it once',
    proves: ['tools'],
    async play(world) {
      const client = await world.guarded();
      assert.deepEqual(await client.tools(), TOOLS);
      assert.equal(textOf(await write(client, '/tmp/a')), 'written: /tmp/a');
      await client.close();
      assert.deepEqual(world.effects, ['/tmp/a']);
      const { server } = world;
      const [decision, ...others] = server.eventsOf('tool.decision');
      assert.deepEqual(others, []);
      const [result] = server.eventsOf('tool.result');
      assert.equal(decision?.data.callId, result?.data.callId);
      assert.deepEqual(decision?.data.tool, { name: 'files.write', categories: ['destructive'] });
      assert.deepEqual(
        server.runs.map(({ status }) => status),
        ['success'],
      );
    },
  },
  {
    name: 'refuses a call, shows the client why and passes on the next one',
    proves: ['tools'],
    async play(world) {
      const isEtc = (args: unknown) => JSON.stringify(args).includes('/etc/');
      world.server.rule({ tools: ['files.write'], when: ({ args }) => isEtc(args), answer: block('Not under /etc') });
      const client = await world.guarded();
      const refused = await write(client, '/etc/passwd');
      assert.equal(refused.isError, true);
      assert.match(textOf(refused), /Not under \/etc/);
      assert.equal(textOf(await write(client, '/tmp/a')), 'written: /tmp/a');
      assert.deepEqual(world.effects, ['/tmp/a']);
    },
  },
  {
    name: 'refuses every further call when a refusal has ended the run, and keeps the connection',
    proves: ['tools'],
    async play(world) {
      const isEtc = (args: unknown) => JSON.stringify(args).includes('/etc/');
      world.server.rule({ tools: ['files.write'], when: ({ args }) => isEtc(args), answer: terminate('It is over') });
      const client = await world.guarded();
      assert.match(textOf(await write(client, '/etc/passwd')), /It is over/);
      assert.match(textOf(await write(client, '/tmp/a')), /It is over/);
      assert.deepEqual(await client.tools(), TOOLS);
      assert.deepEqual(world.effects, []);
      await client.close();
      assert.deepEqual(
        world.server.runs.map(({ status }) => status),
        ['interrupted'],
      );
    },
  },
  {
    name: 'calls the tool with changed arguments',
    proves: ['changed arguments'],
    async play(world) {
      world.server.rule({ tools: ['*.write'], answer: modify({ path: '/tmp/safe' }) });
      assert.equal(textOf(await write(await world.guarded(), '/etc/passwd')), 'written: /tmp/safe');
      assert.deepEqual(world.effects, ['/tmp/safe']);
    },
  },
  {
    name: 'withholds a result from the client',
    proves: ['withheld result'],
    async play(world) {
      world.server.rule({ tools: ['*.write'], phases: ['tool.after'], answer: block('A secret') });
      const result = await write(await world.guarded(), '/tmp/a');
      assert.doesNotMatch(textOf(result), /written/);
      assert.match(textOf(result), /A secret/);
    },
  },
  {
    name: 'waits for a human, tells the client of it, and passes on what he approves',
    proves: ['tools'],
    async play(world) {
      world.server.rule({ tools: ['*.write'], answer: needApproval() });
      const client = await world.guarded();
      const told: string[] = [];
      const onprogress = ({ message = '' }) => {
        told.push(message);
        world.server.approvals.approve();
      };
      const result = await client.call('write', { path: '/tmp/a' }, { onprogress });
      assert.equal(textOf(result), 'written: /tmp/a');
      assert.match(told[0] ?? '', /Waiting for a human/);
      assert.deepEqual(world.effects, ['/tmp/a']);
    },
  },
  {
    name: 'does not pass on what a human denies',
    proves: ['tools'],
    async play(world) {
      world.server.rule({ tools: ['*.write'], answer: needApproval() });
      const client = await world.guarded();
      const onprogress = () => world.server.approvals.deny(undefined, 'not today');
      const result = await client.call('write', { path: '/tmp/a' }, { onprogress });
      assert.match(textOf(result), /not today/);
      assert.deepEqual(world.effects, []);
    },
  },
  {
    name: 'names the approval at once if it is not to wait',
    async play(world) {
      world.server.rule({ tools: ['*.write'], answer: needApproval('eyes', 'A person has to look') });
      assert.match(textOf(await write(await world.guarded('--no-wait'), '/tmp/a')), /A person has to look/);
      assert.deepEqual(world.effects, []);
    },
  },
  {
    name: 'does not pass on a call that the client cancels while a human is asked',
    async play(world) {
      world.server.rule({ tools: ['*.write'], answer: needApproval() });
      const client = await world.guarded();
      const caller = new AbortController();
      const options = { signal: caller.signal, onprogress: () => caller.abort() };
      await assert.rejects(client.call('write', { path: '/tmp/a' }, options));
      world.server.approvals.approve();
      assert.equal(
        textOf(await client.call('write', { path: '/tmp/b' }, { onprogress: () => world.server.approvals.approve() })),
        'written: /tmp/b',
      );
      assert.deepEqual(world.effects, ['/tmp/b']);
    },
  },
  {
    name: 'passes on that the client cancels a call which has begun',
    async play(world) {
      const client = await world.guarded();
      const caller = new AbortController();
      const call = client.call('slow', {}, { signal: caller.signal });
      await world.effect('begun');
      caller.abort();
      await assert.rejects(call);
      await world.effect('cancelled');
    },
  },
  {
    name: 'stops a call in the middle when an operator kills the run, and makes no further one',
    proves: ['kill'],
    async play(world) {
      const client = await world.guarded();
      const call = client.call('slow');
      await world.effect('begun');
      const [run] = world.server.runs;
      assert.ok(run);
      world.server.control.kill(run.id, 'enough');
      assert.match(textOf(await call), /enough/);
      await world.effect('cancelled');
      assert.match(textOf(await write(client, '/tmp/a')), /enough/);
      assert.deepEqual(world.effects, ['begun', 'cancelled']);
    },
  },
  {
    name: 'leaves a tool that fails as it is without a proxy',
    async play(world) {
      const [bare, guarded] = [await world.bare(), await world.guarded()];
      assert.deepEqual(await guarded.call('fail'), await bare.call('fail'));
      await guarded.close();
      assert.equal(world.server.eventsOf('tool.result')[0]?.data.outcome, 'error');
    },
  },
  {
    name: 'gives the server no key but those that are named',
    async play(world) {
      assert.equal(textOf(await (await world.guarded()).call('keys')), '');
      assert.equal(textOf(await (await world.guarded('--env', 'GITHUB_TOKEN')).call('keys')), 'GITHUB_TOKEN');
    },
  },
  {
    name: 'goes on while the platform is away, failing open',
    async play(world) {
      world.server.fail('down');
      assert.equal(textOf(await write(await world.guarded(), '/tmp/a')), 'written: /tmp/a');
    },
  },
  {
    name: 'refuses while the platform is away, failing closed',
    async play(world) {
      world.server.fail('down', (path) => path.endsWith('/evaluate'));
      const refused = await write(await world.guarded('--fail-mode', 'closed'), '/tmp/a');
      assert.equal(refused.isError, true);
      assert.deepEqual(world.effects, []);
    },
  },
];

for (const [generation, name] of GENERATIONS) {
  void describe(`@agentlens/mcp-proxy with ${name}`, () => {
    const report = new Report(
      {
        name: 'MCP proxy',
        package: '@agentlens/mcp-proxy',
        version: name,
        variant: generation,
      },
      SCENARIOS.length,
    );
    for (const { name: scenario, proves = [], play } of SCENARIOS)
      void it(scenario, () =>
        report.note(scenario, proves, async () => {
          const world = new McpWorld(generation);
          try {
            await play(world);
          } finally {
            await world.close();
          }
        }),
      );
    after(() => report.write());
  });
}
