import { describe, expect, it } from '@jest/globals';
import { Agent } from '../agent/agent.ts';
import type { AgentConfig } from '../agent/agent-config.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { AgentSession } from '../session/agent-session.ts';
import { ScriptedModel, type ScriptStep } from '../testing/scripted-model.ts';
import { tool } from '../tools/tool.ts';
import { AgentRuntime } from './agent-runtime.ts';

const rm = (ran: string[]) =>
  tool<object>({
    name: 'rm',
    description: 'Removes.',
    category: 'write',
    input: { type: 'object' },
    execute: () => ran.push('rm'),
  });
const usage = { inputTokens: 10, outputTokens: 5 };
const agent = (id: string, steps: readonly ScriptStep[], more: Partial<AgentConfig> = {}) =>
  new Agent({ id, taskPrompt: `You are ${id}.`, modelProviders: [new ScriptedModel(steps)], ...more });

describe('sub-agents', () => {
  it('work over three levels: lineage, results, tokens up, denies down', async () => {
    const ran: string[] = [];
    const runtime = new AgentRuntime();
    const leaf = agent(
      'leaf',
      [
        { toolCalls: [{ name: 'rm', input: {} }], usage },
        { text: 'leaf done', usage },
      ],
      {
        tools: [rm(ran)],
        permissions: [PermissionRule.all('allow')],
        runtime,
      },
    );
    const middle = agent(
      'middle',
      [
        { toolCalls: [{ name: 'leaf', input: { task: 'remove it' } }], usage },
        { text: 'middle done', usage },
      ],
      {
        subAgents: { leaf },
        permissions: [PermissionRule.all('allow')],
        runtime,
      },
    );
    const top = agent(
      'top',
      [
        { toolCalls: [{ id: 'c1', name: 'middle', input: { task: 'see to it' } }], usage },
        { text: 'top done', usage },
      ],
      {
        subAgents: { middle },
        permissions: [PermissionRule.denyTool('rm'), PermissionRule.allowCategory('agent')],
        runtime,
      },
    );
    const events: AgentEvent[] = [];
    top.on('subagent-output', (event) => void (event.type === 'subagent-output' && events.push(event.chunk)));
    const result = await top.run({ input: 'go', events: 'inline' });
    expect(result).toMatchObject({ success: true, result: 'top done' });
    expect(ran).toEqual([]);
    expect(result.actions[0]).toMatchObject({ toolId: 'middle', output: 'middle done', isError: false });
    expect(result.tokenUsage).toMatchObject({ total: 90, children: 60 });
    const store = runtime.store;
    const [topId] = await store.list({ agentType: 'top' });
    const [middleId] = await store.list({ parentSessionId: topId ?? '' });
    const leafSession = await AgentSession.load(
      store,
      (await store.list({ parentSessionId: middleId ?? '' }))[0] ?? '',
    );
    expect(leafSession.agentType).toBe('leaf');
    expect((await AgentSession.load(store, topId ?? '')).getChildSessions()).toEqual([middleId]);
    expect((await AgentSession.load(store, middleId ?? '')).parentToolUseId).toBe('c1');
    expect(events.map(({ type }) => type)).toContain('tool-end');
    expect(runtime.listActive()).toEqual([]);
  });

  it('ask through the handler of their parent', async () => {
    const ran: string[] = [];
    const child = agent('child', [{ toolCalls: [{ name: 'rm', input: {} }] }, { text: 'gone' }], { tools: [rm(ran)] });
    const asked: string[] = [];
    const parent = agent('parent', [{ toolCalls: [{ name: 'child', input: { task: 'x' } }] }, { text: 'ok' }], {
      subAgents: { child },
      permissions: [PermissionRule.allowTool('child')],
      onPermissionRequest: async ({ toolName }) => {
        asked.push(toolName);
        return { decision: 'allow' };
      },
    });
    expect(await parent.run()).toMatchObject({ success: true });
    expect([asked, ran]).toEqual([['rm'], ['rm']]);
  });

  it('are interrupted with their parent', async () => {
    const child = agent('child', [{ text: 'never', delayMs: 60_000 }]);
    const parent = agent('parent', [{ toolCalls: [{ name: 'child', input: { task: 'x' } }] }, { text: 'ok' }], {
      subAgents: { child },
    });
    const active = parent.createSession({ input: 'go' });
    parent.on('subagent-output', (event) => {
      if (event.type === 'subagent-output' && event.chunk.type === 'model-start') active.abort();
    });
    const result = await active.run();
    expect(result).toMatchObject({ success: false, aborted: true, error: { code: 'aborted' } });
    await active[Symbol.asyncDispose]();
    expect(parent.runtime.listActive()).toEqual([]);
  });

  it('continue in the background until they are shut down', async () => {
    const runtime = new AgentRuntime();
    const child = agent('child', [{ text: 'first' }, { text: 'second' }], { runtime });
    const events: AgentEvent[] = [];
    const handle = runtime.spawn(new AgentSession('parent'), async (internals) => {
      internals.observe((event) => events.push(event));
      await internals.receive();
      const background = internals.spawnChild('child', child.asFunction(), { input: 'one', background: true });
      for await (const event of background.subscribe({ from: 'start', only: ['done'] })) {
        if (event.type === 'done' && event.turn === 1) background.sendInput('two');
        if (event.type === 'done' && event.turn === 2) break;
      }
      internals.send({ type: 'done', result: background.getHistory().length });
    });
    handle.sendInput('go');
    await handle.finished;
    expect(events.find(({ type }) => type === 'done')).toMatchObject({ result: 4 });
    expect(events.find(({ type }) => type === 'subagent-complete')).toMatchObject({ success: true, result: 'first' });
    await runtime.shutdownAll();
  });

  it('have a nesting limit', async () => {
    const runtime = new AgentRuntime({ limits: { depth: 2 } });
    const self: Agent = agent(
      'self',
      Array.from(
        { length: 10 },
        (): ScriptStep => (messages) =>
          messages.length > 1 ? { text: 'end' } : { toolCalls: [{ name: 'again', input: { task: 'deeper' } }] },
      ),
      { runtime },
    );
    self.addSubAgent('again', self);
    const result = await self.run();
    expect(result.success).toBe(true);
    expect((await runtime.store.list()).length).toBe(3);
  });
});
