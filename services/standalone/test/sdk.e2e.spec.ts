import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AgentLens, type AgentLensClient, defineTool, isAgentStopped, type Run, wrapTool } from '@agentlens/sdk';
import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';
import { storyOf } from './support/story.ts';

const MODEL = { name: 'gpt-4o', provider: 'openai' };

/** A real agent loop inside the SDK, and people at the operator API, with the whole platform between them. */
describe('an agent with the SDK', () => {
  let platform: PlatformUnderTest;
  let people: Client;
  let client: AgentLensClient;
  let key: string;

  beforeAll(async () => {
    platform = await startEmbedded();
    people = new Client(platform, (await platform.keyOf('sdk', 'admin')).key);
    ({ key } = await platform.keyOf('sdk', 'ingest', 'decide'));
    const rule = (name: string, value: string, actionType: string) =>
      people.post('/api/guardrails', {
        name,
        conditionType: 'tool_name',
        conditionConfig: { value },
        actionType,
        actionConfig: {},
      });
    await rule('Nothing is deleted', 'delete_*', 'block');
    await rule('Payments need a human', 'pay', 'require_approval');
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([2]));
    client = await AgentLens.init({
      apiKey: key,
      baseUrl: platform.addressFor('POST', '/v1/agents'),
      agent: { slug: 'sdk-agent' },
      // The machine of a test may be busy; what is tested here is not its speed.
      deadlineMs: 10_000,
      failMode: 'closed',
    });
    await eventually(() => expect(client.status.connected).toBe(true));
  });
  afterAll(async () => {
    await client?.shutdown();
    await platform?.stop();
  });

  /** Tools that only note that they ran. */
  function toolsOf(run: Run) {
    const done: string[] = [];
    const named = (name: string) =>
      defineTool({ name, execute: (args: { of: string }) => done.push(`${name} ${args.of}`) });
    const wrapped = (name: string) => wrapTool(named(name), { run, waitForApproval: { timeoutMs: 60_000 } });
    return { done, search: wrapped('search'), remove: wrapped('delete_file'), pay: wrapped('pay') };
  }

  async function think(run: Run, said: string) {
    await run.beforeLlm([{ role: 'user', content: said }]);
    await run.afterLlm({
      content: [{ type: 'text', text: said }],
      model: MODEL,
      usage: { inputTokens: 9, outputTokens: 3 },
    });
  }

  it('is blocked before a forbidden tool runs, waits for a human, and its story can be read', async () => {
    const run = await client.startRun({ actor: { externalId: 'u1' } });
    const { done, search, remove, pay } = toolsOf(run);
    await think(run, 'find it');
    await search({ of: 'a' });
    expect(await remove({ of: 'a' })).toMatchObject({ blocked: true, code: 'AGENTLENS_TOOL_BLOCKED' });
    const paying = pay({ of: '5 EUR' });
    const pending = await eventually(async () => {
      const { body } = await people.get(`/api/alerts?kind=approval&runId=${run.id}`);
      expect(body.alerts).toHaveLength(1);
      return body.alerts[0];
    });
    expect(done).toEqual(['search a']);
    expect((await people.post(`/api/alerts/${pending.id}/approve`, { reason: 'fine' })).status).toBe(200);
    await paying;
    expect(done).toEqual(['search a', 'pay 5 EUR']);
    await run.end();
    expect(client.status.events).toMatchObject({ dropped: 0, waiting: 0 });
    await eventually(async () => {
      const { body } = await people.get(`/api/runs/${run.id}/timeline`);
      const told = JSON.stringify(body.entries);
      for (const fact of ['run.started', 'llm.result', 'delete_file', 'RULE_VIOLATION', 'HITL_PENDING', 'run.ended'])
        expect(told).toContain(fact);
    });
    const { body } = await people.get(`/api/runs/${run.id}`);
    expect(body).toMatchObject({ status: 'succeeded', totals: { llmCalls: 1, toolCalls: 2, inputTokens: 9 } });
  });

  it('is blocked, waits, trips its breaker and is killed in one run, and all of it is one story', async () => {
    const run = await client.startRun({ actor: { externalId: 'u2' } });
    const { done, search, remove, pay } = toolsOf(run);
    let modelCalls = 0;
    const step = async () => {
      await think(run, `step ${modelCalls}`);
      modelCalls += 1;
    };
    await step();
    await search({ of: 'a' });
    expect(await remove({ of: 'everything' })).toMatchObject({ blocked: true });
    const paying = pay({ of: '7 EUR' });
    const { id } = await eventually(async () => {
      const { body } = await people.get(`/api/alerts?kind=approval&runId=${run.id}`);
      expect(body.alerts).toMatchObject([{ status: 'pending' }]);
      return body.alerts[0];
    });
    expect(done).toEqual(['search a']);
    await people.post(`/api/alerts/${id}/approve`, { reason: 'known payee' });
    await paying;
    const stopped: unknown = await (async () => {
      for (;;) await step();
    })().catch((error: unknown) => error);
    expect([isAgentStopped(stopped), modelCalls, run.breakerState]).toMatchObject([true, 50, { reason: 'iterations' }]);
    // The platform's breaker of the run opened with it. Somebody lets it go on, and somebody else has had enough.
    await eventually(async () => {
      const { body } = await people.get('/api/breakers?scope=run&limit=200');
      const own = body.breakers.filter(({ scopeId }: { scopeId: string }) => scopeId === run.id);
      expect(own).toMatchObject([{ state: { kind: 'open', reason: 'iterations' } }]);
    });
    await eventually(async () => {
      const { body } = await people.get(`/api/alerts?kind=breaker&runId=${run.id}`);
      expect(body.alerts).toMatchObject([{ status: 'pending', runId: run.id }]);
    });
    expect((await people.get(`/api/runs/${run.id}`)).body.control).toMatchObject({
      ...{ state: 'breaker_open', source: 'breaker', reason: 'iterations', scope: 'run', scopeId: run.id },
    });
    expect(await people.post(`/api/breakers/run/${run.id}/reset`, {})).toMatchObject({ status: 200 });
    run.resetBreaker();
    await search({ of: 'b' });
    const order = { scope: 'run', id: run.id, state: 'killed', reason: 'enough', waitMs: 10_000 };
    expect(await people.post('/api/control', order)).toMatchObject({
      body: { connected: 1, acknowledged: 1, slowestMs: expect.any(Number) },
    });
    expect(await search({ of: 'c' })).toMatchObject({
      code: 'AGENTLENS_RUN_ENDED',
      reason: expect.stringContaining('enough'),
    });
    expect(done).toEqual(['search a', 'pay 7 EUR', 'search b']);
    await run.end('interrupted');
    await eventually(async () => {
      const { body } = await people.get(`/api/runs/${run.id}/timeline?limit=500`);
      const story = storyOf(body.entries).filter((entry) => !entry.startsWith('breaker '));
      expect(story).toEqual([
        ...['run.started', 'search ALLOW', 'delete_file BLOCK', 'approval opened', 'pay BLOCK', 'approval decided'],
        ...[
          'approval used',
          'pay ALLOW',
          'breaker.tripped',
          'search ALLOW',
          'order killed',
          'search BLOCK',
          'run.ended',
        ],
      ]);
    });
  });

  it('is killed in the middle of a run, and acknowledges it', async () => {
    const run = await client.startRun();
    const { done, search } = toolsOf(run);
    await search({ of: 'before' });
    const order = { scope: 'run', id: run.id, state: 'killed', reason: 'enough', waitMs: 10_000 };
    expect(await people.post('/api/control', order)).toMatchObject({ status: 200, body: { acknowledged: 1 } });
    expect(run.signal.aborted).toBe(true);
    expect(await search({ of: 'after' })).toMatchObject({ code: 'AGENTLENS_RUN_ENDED' });
    expect(done).toEqual(['search before']);
    await run.end('interrupted');
  });

  it('is what the example without a model is', async () => {
    const example = join(import.meta.dirname, '../../../libs/sdk/examples/agent-without-a-model.mjs');
    const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];
    const env = { AGENTLENS_URL: platform.addressFor('POST', '/v1/agents'), AGENTLENS_API_KEY: key };
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, example], { env });
    expect(stdout).toContain('blocked: ');
    expect(stdout).not.toContain('deleted ');
    const runId = /^run (\S+)$/m.exec(stdout)?.[1];
    await eventually(async () => {
      const { body } = await people.get(`/api/runs/${runId}/timeline`);
      expect(storyOf(body.entries)).toEqual([
        ...['run.started', 'search_files ALLOW', 'delete_file BLOCK', 'run.ended'],
      ]);
    });
  });

  it('is stopped by its breaker at the right call', async () => {
    const run = await client.startRun();
    let calls = 0;
    const looping = async () => {
      for (;;) {
        await think(run, `step ${calls}`);
        calls++;
      }
    };
    const stopped: unknown = await looping().catch((error: unknown) => error);
    expect([isAgentStopped(stopped), calls]).toEqual([true, 50]);
    expect(stopped).toMatchObject({ decision: { control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } } });
    await run.end('error');
  });
});
