import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { AgentLens } from '@agentlens/sdk';
import { Operator, type Platform, platformOf } from '../../conformance/src/platform.ts';
import { type Generation, McpWorld, type TestClient, type ToolResult } from './mcp-world.ts';

const textOf = ({ content }: ToolResult) => content.map(({ text }) => text).join('');

interface OnPlatform {
  readonly world: McpWorld;
  readonly client: TestClient;
  readonly operator: Operator;
  /** The run that the calls have begun. */
  readonly run: () => Promise<string>;
}

/** An agent of its own for each test, so that its one run can be found. */
async function onPlatform(
  platform: Platform,
  generation: Generation,
  play: (given: OnPlatform) => Promise<void>,
): Promise<void> {
  const slug = `kit-mcp-${randomUUID()}`;
  const lens = await AgentLens.init({ apiKey: platform.key, baseUrl: platform.url, agent: { slug: 'kit-mcp' } });
  const agent = await AgentLens.init({ apiKey: platform.key, baseUrl: platform.url, agent: { slug } });
  const world = new McpWorld(generation);
  const operator = new Operator(platform);
  try {
    await operator.prepare(lens);
    await agent.ready();
    const client = await world.guardedBy(platform, slug);
    await play({ world, client, operator, run: () => operator.runOf(agent.status.agentId ?? '') });
  } finally {
    await world.close();
    await lens.shutdown();
    await agent.shutdown();
  }
}

const platform = platformOf(process.env);

if (platform !== undefined)
  for (const generation of ['v1', 'v2'] as const)
    void describe(`@agentlens/mcp-proxy (${generation}) on a started platform`, () => {
      void it('refuses one call, makes the other, and its timeline has one decision of each', () =>
        onPlatform(platform, generation, async ({ world, client, operator, run }) => {
          assert.equal((await client.call('kit_blocked')).isError, true);
          assert.equal(textOf(await client.call('kit_free')), 'written: kit_free');
          assert.deepEqual(world.effects, ['kit_free']);
          const runId = await run();
          await client.close();
          const { entries } = await operator.ended(runId);
          assert.equal((JSON.stringify(entries).match(/"tool\.decision"/g) ?? []).length, 2);
        }));

      void it('refuses every further call when a rule has ended the run', () =>
        onPlatform(platform, generation, async ({ world, client }) => {
          assert.equal((await client.call('kit_ended')).isError, true);
          assert.equal((await client.call('kit_free')).isError, true);
          assert.deepEqual(world.effects, []);
        }));

      void it('makes a call after a human approved it', () =>
        onPlatform(platform, generation, async ({ world, client, operator, run }) => {
          const call = client.call('kit_asked', {}, { onprogress: () => undefined });
          await operator.approve(await run());
          assert.equal(textOf(await call), 'written: kit_asked');
          assert.deepEqual(world.effects, ['kit_asked']);
        }));

      void it('stops a call in the middle when an operator kills the run', () =>
        onPlatform(platform, generation, async ({ world, client, operator, run }) => {
          const call = client.call('slow');
          await world.effect('begun');
          await operator.kill(await run());
          assert.match(textOf(await call), /enough/);
          assert.equal((await client.call('kit_free')).isError, true);
          assert.ok(!world.effects.includes('kit_free'));
        }));
    });
