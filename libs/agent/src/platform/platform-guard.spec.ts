import { block, modify, needApproval, settle, TestPlatform, terminate } from '@agentlens/sdk/testing';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { Agent } from '../agent/agent.ts';
import type { AgentConfig } from '../agent/agent-config.ts';
import type { AgentResult } from '../agent/agent-result.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { AgentRuntime } from '../runtime/agent-runtime.ts';
import { ScriptedModel, type ScriptStep } from '../testing/scripted-model.ts';
import { tool } from '../tools/tool.ts';

async function guarded(
  server: TestPlatform,
  steps: readonly ScriptStep[],
  more: Partial<AgentConfig> = {},
  options: Parameters<TestPlatform['client']>[0] = {},
) {
  const ran: unknown[] = [];
  const pay = tool<{ eur: number }>({
    ...{
      name: 'pay',
      description: 'Pays.',
      category: 'write',
      input: { type: 'object', properties: { eur: { type: 'number' } }, required: ['eur'] },
    },
    execute: (input) => {
      ran.push(input);
      return 'paid';
    },
  });
  const client = await server.client(options);
  const runtime = new AgentRuntime({ platform: client });
  const agent = new Agent({
    id: 'payer',
    taskPrompt: 'Pay.',
    tools: [pay],
    permissions: [PermissionRule.all('allow')],
    modelProviders: [new ScriptedModel(steps)],
    runtime,
    ...more,
  });
  return { agent, ran, client };
}

const paying: readonly ScriptStep[] = [
  { toolCalls: [{ id: 'c1', name: 'pay', input: { eur: 5 } }], usage: { inputTokens: 9, outputTokens: 1 } },
  { text: 'done' },
];

describe('a run with the platform', () => {
  it('is reported with its model calls, decisions and end', async () => {
    const server = new TestPlatform();
    const { agent, ran, client } = await guarded(server, paying);
    const result = await agent.run();
    expect(result).toMatchObject({ success: true, result: 'done' });
    expect(ran).toEqual([{ eur: 5 }]);
    await client.drain();
    const kinds = server.events.map(({ kind }) => kind);
    for (const kind of ['run.started', 'llm.result', 'tool.decision', 'tool.result', 'run.ended'])
      expect(kinds).toContain(kind);
    expect(server.runs).toMatchObject([{ id: result.runId, status: 'success' }]);
    expect(server.events.find(({ kind }) => kind === 'llm.result')?.data).toMatchObject({
      tokens: { in: 9, out: 1 },
      model: { name: 'scripted' },
    });
  });

  it('shows each event within 2 s, while it runs', async () => {
    const server = new TestPlatform();
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const begun = gates.map(() => Promise.withResolvers<void>());
    const wait = tool<{ at: number }>({
      ...{ name: 'wait', description: 'Waits.', category: 'read' },
      input: { type: 'object', properties: { at: { type: 'number' } }, required: ['at'] },
      execute: ({ at }) => {
        begun[at]?.resolve();
        return gates[at]?.promise ?? '';
      },
    });
    const steps: ScriptStep[] = [0, 1].map((at) => ({ toolCalls: [{ id: `c${at}`, name: 'wait', input: { at } }] }));
    const { agent, client } = await guarded(server, [...steps, { text: 'done' }], { tools: [wait] });
    const run = agent.run();
    for (const [at, gate] of gates.entries()) {
      await begun[at]?.promise;
      await server.clock.advance(2_000);
      const counts = ['llm.result', 'tool.decision', 'tool.result'].map((kind) => server.eventsOf(kind).length);
      expect({ at, counts }).toEqual({ at, counts: [at + 1, at + 1, at] });
      gate.resolve('ok');
    }
    await run;
    await client.shutdown();
  });

  it('is one run per turn, in one session', async () => {
    const server = new TestPlatform();
    const { agent } = await guarded(server, [{ text: 'one' }, { text: 'two' }]);
    await using active = agent.createSession();
    const [first, second] = [await active.run('a'), await active.run('b')];
    expect(first.runId).not.toBe(second.runId);
    expect(server.runs.map(({ start }) => start.sessionId)).toEqual([active.id, active.id]);
  });

  it('is blocked before a tool runs, and the model receives the reason', async () => {
    const server = new TestPlatform().rule({ tools: ['pay'], answer: block('Not today') });
    const { agent, ran } = await guarded(server, paying);
    const result = await agent.run({ events: 'inline' });
    expect(ran).toEqual([]);
    expect(result).toMatchObject({ success: true, actions: [{ code: 'blocked_by_platform', isError: true }] });
    expect(JSON.stringify(result.actions)).toContain('Not today');
    expect(result.eventStream).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'decision', verdict: 'block', ruleId: 'test' })]),
    );
  });

  it('is ended by a rule', async () => {
    const server = new TestPlatform().rule({ tools: ['pay'], answer: terminate('That was it') });
    const { agent, ran } = await guarded(server, paying);
    expect(await agent.run()).toMatchObject({
      success: false,
      error: { code: 'run_ended', message: 'That was it' },
      actions: [{ code: 'run_ended' }],
    });
    expect(ran).toEqual([]);
  });

  it('runs a tool with the arguments a rule changed, after the same checks', async () => {
    const changed = new TestPlatform().rule({ tools: ['pay'], answer: modify({ eur: 1 }) });
    const good = await guarded(changed, paying);
    expect(await good.agent.run()).toMatchObject({ success: true, actions: [{ input: { eur: 1 } }] });
    expect(good.ran).toEqual([{ eur: 1 }]);
    const nonsense = new TestPlatform().rule({ tools: ['pay'], answer: modify({ eur: 'many' }) });
    const bad = await guarded(nonsense, paying);
    expect((await bad.agent.run()).actions).toMatchObject([{ code: 'invalid_input' }]);
    expect(bad.ran).toEqual([]);
    // The human approved five, not one, and is asked again.
    const asked: unknown[] = [];
    const ask = await guarded(changed, paying, {
      permissions: [],
      onPermissionRequest: async ({ input }) => {
        asked.push(input);
        return { decision: 'allow' };
      },
    });
    await ask.agent.run();
    expect([asked, ask.ran]).toEqual([[{ eur: 5 }, { eur: 1 }], [{ eur: 1 }]]);
  });

  it('waits for approval on the platform after the local one', async () => {
    const server = new TestPlatform().rule({ tools: ['pay'], answer: needApproval() });
    const { agent, ran } = await guarded(server, paying);
    const running = agent.run();
    await eventually(() => expect(server.approvals.pending).toHaveLength(1));
    expect(ran).toEqual([]);
    server.approvals.approve();
    expect(await running).toMatchObject({ success: true });
    expect(ran).toEqual([{ eur: 5 }]);
    const refused = await guarded(server, paying, { permissions: [PermissionRule.denyTool('pay')] });
    await refused.agent.run();
    // A call denied locally is not sent to the platform.
    expect(server.approvals.all).toHaveLength(1);
    await refused.client.drain();
    expect(server.events.find(({ kind }) => kind === 'permission.decided')?.data).toMatchObject({
      decision: 'deny',
      tool: { name: 'pay' },
    });
  });

  it('is killed in the middle of a tool, whose call still has a result', async () => {
    const server = new TestPlatform();
    const begun = Promise.withResolvers<void>();
    const hang = tool({
      name: 'hang',
      description: '',
      input: { type: 'object' },
      execute: () => new Promise(() => begun.resolve()),
    });
    const { agent } = await guarded(server, [{ toolCalls: [{ name: 'hang', input: {} }] }], { tools: [hang] });
    const active = agent.createSession();
    const running = active.run();
    await begun.promise;
    server.control.kill(active.handle.lastSeq > 0 ? (server.runs[0]?.id ?? '') : '', 'enough');
    await settle();
    const result = await running;
    expect(result).toMatchObject({
      success: false,
      actions: [{ toolId: 'hang', isError: true }],
      error: { code: 'run_ended' },
    });
    await active[Symbol.asyncDispose]();
  });

  it('uses the model set by an operator', async () => {
    const server = new TestPlatform();
    const model = new ScriptedModel([{ text: 'ok' }]);
    const { agent, client } = await guarded(server, [], { modelProviders: [model] });
    await eventually(() => expect(client.status.connected).toBe(true));
    server.control.useModel('cheaper');
    await eventually(() => expect(client.modelOverride).toBe('cheaper'));
    await agent.run();
    expect(model.requests[0]?.model).toBe('cheaper');
  });

  it('continues or ends while the platform is unavailable, as configured', async () => {
    const server = new TestPlatform();
    const open = await guarded(server, paying, {}, { failMode: 'open' });
    const closed = await guarded(server, paying, {}, { failMode: 'closed' });
    server.fail('down');
    const finished = async (running: Promise<AgentResult>) => {
      let over = false;
      const mark = () => {
        over = true;
      };
      running.then(mark, mark);
      while (!over) await server.clock.advance(1_000);
      return running;
    };
    expect(await finished(open.agent.run())).toMatchObject({ success: true });
    expect(open.ran).toEqual([{ eur: 5 }]);
    const result = await finished(closed.agent.run());
    expect(result).toMatchObject({ success: false, error: { code: 'run_ended' } });
    expect(closed.ran).toEqual([]);
  });

  it('is replayed without the platform', async () => {
    const server = new TestPlatform().rule({ tools: ['pay'], answer: block('Not today') });
    const { Cassette } = await import('../replay/cassette.ts');
    const cassette = new Cassette();
    const { agent } = await guarded(server, paying);
    const recorded = await agent.run({ record: cassette, events: 'inline' });
    const questions = server.questions.length;
    const again = await guarded(server, []);
    const replayed = await again.agent.run({
      replay: Cassette.from(JSON.parse(JSON.stringify(cassette))),
      events: 'inline',
    });
    expect(JSON.stringify(replayed)).toBe(JSON.stringify(recorded));
    expect(server.questions.length).toBe(questions);
  });
});
