import { describe, expect, it } from '@jest/globals';
import type { AgentEvent } from '../core/agent-event.ts';
import type { PermissionRequest } from '../core/input-output.ts';
import { Message, openToolUses, ToolResult, textOf } from '../core/message.ts';
import { PermissionManager } from '../permissions/permission-manager.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { AgentSession } from '../session/agent-session.ts';
import { MemorySessionStore } from '../session/memory-session-store.ts';
import { ScriptedModel, type ScriptStep } from '../testing/scripted-model.ts';
import { type Tool, ToolFatalError, tool } from '../tools/tool.ts';
import { ToolRegistry } from '../tools/tool-registry.ts';
import type { AgentHandle } from './agent-handle.ts';
import type { AgentFunction } from './agent-internals.ts';
import { AgentRuntime } from './agent-runtime.ts';

const anything = { type: 'object' } as const;
const fast = (name: string, execute: Tool['execute'], more: Partial<Tool> = {}): Tool =>
  tool({ name, description: name, category: 'execute', input: anything, execute, ...more });

/** The loop of the first example, written by hand. */
function loop(model: ScriptedModel, tools: ToolRegistry, permissions: PermissionManager): AgentFunction {
  return async (internals) => {
    for (;;) {
      const input = await internals.receive();
      if (input.type === 'shutdown') return;
      if (input.type !== 'user-input') continue;
      internals.session.addMessage(Message.user(input.content));
      const llm = internals.model(model);
      const executor = internals.tools(tools, permissions);
      for (;;) {
        const { content } = await llm.call(internals.session.getHistory(), { tools: tools.getDefinitions() });
        internals.session.addMessage(Message.assistant(content));
        const calls = content.filter((block) => block.type === 'tool_use');
        if (calls.length === 0) break;
        await executor.executeAll(calls);
      }
      internals.send({ type: 'done' });
    }
  };
}

function start(
  steps: readonly ScriptStep[],
  tools: readonly Tool[],
  rules: readonly PermissionRule[] = [PermissionRule.all('allow')],
) {
  const runtime = new AgentRuntime();
  const registry = new ToolRegistry(tools);
  const model = new ScriptedModel(steps);
  const handle = runtime.spawn(
    new AgentSession('coder'),
    loop(model, registry, new PermissionManager({ tools: registry, rules })),
  );
  return { runtime, handle, model };
}

/** Until the turn ends. */
async function turn(handle: AgentHandle, input: string): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  const subscription = handle.subscribe();
  handle.sendInput(input);
  for await (const event of subscription) {
    if (event.type === 'lagged') continue;
    events.push(event);
    if (event.type === 'done' || event.type === 'error') break;
  }
  return events;
}

async function next<T extends AgentEvent['type']>(
  handle: AgentHandle,
  type: T,
): Promise<Extract<AgentEvent, { type: T }>> {
  for await (const event of handle.subscribe({ from: 'start', only: [type] }))
    if (event.type === type) return event as Extract<AgentEvent, { type: T }>;
  throw new Error(`the session ended without ${type}`);
}

const resultsOf = (handle: AgentHandle) =>
  handle
    .getHistory()
    .flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_result' ? [block] : [])));
const codeOf = (content: unknown) => (content as { error?: string }).error;

describe('a session', () => {
  it('emits nothing before its first input', async () => {
    const { runtime, handle } = start([{ text: 'hi' }], []);
    await new Promise((resolve) => setImmediate(resolve));
    expect(handle.lastSeq).toBe(0);
    const events = await turn(handle, 'hello');
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['state-change', 'model-start', 'text-delta', 'text-complete', 'done']),
    );
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    await runtime.shutdownAll();
    expect(handle.state.kind).toBe('done');
    expect(runtime.listActive()).toEqual([]);
  });

  it('runs turn after turn, and every reader sees all of it', async () => {
    const { runtime, handle, model } = start([{ text: 'one' }, { text: 'two' }], []);
    const readers = [1, 2, 3].map(async () => {
      const seen: number[] = [];
      for await (const event of handle.subscribe({ from: 'start' })) if (event.type !== 'lagged') seen.push(event.seq);
      return seen;
    });
    await turn(handle, 'a');
    await turn(handle, 'b');
    expect(model.requests[1]?.messages.map(({ content }) => textOf(content))).toEqual(['a', 'one', 'b']);
    await runtime.shutdownAll();
    const [first, ...others] = await Promise.all(readers);
    expect(first).toEqual(Array.from({ length: handle.lastSeq }, (_, index) => index + 1));
    for (const other of others) expect(other).toEqual(first);
  });

  it('reports missed events to a slow reader', async () => {
    const runtime = new AgentRuntime({ limits: { events: 1_024 } });
    const handle = runtime.spawn(new AgentSession('chatty'), async (internals) => {
      await internals.receive();
      for (let count = 0; count < 10_000; count++) internals.send({ type: 'text-delta', text: 'x' });
    });
    const subscription = handle.subscribe({ from: 1 });
    handle.sendInput('go');
    await handle.finished;
    const total = handle.lastSeq;
    const lag = await subscription.next();
    expect(lag.value).toEqual({ type: 'lagged', missed: total - 1_024, resumedAt: total - 1_023 });
    let read = 0;
    for await (const event of subscription) if (event.type !== 'lagged') read += 1;
    expect(read).toBe(1_024);
  });

  it('enters the error state when its function throws, is saved, and affects no other session', async () => {
    const store = new MemorySessionStore();
    const runtime = new AgentRuntime({ store });
    const broken = runtime.spawn(new AgentSession('broken'), async (internals) => {
      await internals.receive();
      internals.session.addMessage(Message.user('kept'));
      throw new Error('bug');
    });
    const { handle: other } = start([{ text: 'fine' }], []);
    broken.sendInput('go');
    await broken.finished;
    expect(broken.state).toEqual({ kind: 'error', error: { code: 'agent_failed', message: 'bug' } });
    expect((await AgentSession.load(store, broken.sessionId)).getHistory()).toEqual([Message.user('kept')]);
    expect(() => broken.sendInput('again')).toThrow(expect.objectContaining({ code: 'run_ended' }));
    expect((await turn(other, 'x')).at(-1)?.type).toBe('done');
    await other.shutdown();
  });

  it('has one owner', async () => {
    const store = new MemorySessionStore();
    const [a, b] = [new AgentRuntime({ store }), new AgentRuntime({ store })];
    const session = new AgentSession('coder');
    const first = a.spawn(session, async (internals) => void (await internals.receive()));
    await new Promise((resolve) => setImmediate(resolve));
    expect(() => a.spawn(session, async () => undefined)).toThrow(expect.objectContaining({ code: 'session_busy' }));
    const second = await b.resume(session.sessionId, async () => undefined);
    await second.finished;
    expect(second.state).toMatchObject({ kind: 'error', error: { code: 'session_busy' } });
    await first.shutdown();
    const third = await b.resume(session.sessionId, async () => undefined);
    await third.finished;
    expect(third.state.kind).toBe('done');
  });

  it('enforces the limits of its process', async () => {
    const runtime = new AgentRuntime({ limits: { sessions: 1, inbox: 2 } });
    const handle = runtime.spawn(new AgentSession('a'), async (internals) => {
      await internals.receive();
      await new Promise<void>((resolve) => internals.signal.addEventListener('abort', () => resolve()));
    });
    expect(() => runtime.spawn(new AgentSession('b'), async () => undefined)).toThrow(
      expect.objectContaining({ code: 'capacity' }),
    );
    handle.sendInput('taken');
    await next(handle, 'state-change');
    handle.sendInput('1');
    handle.sendInput('2');
    expect(() => handle.sendInput('3')).toThrow(expect.objectContaining({ code: 'capacity' }));
    await runtime.shutdownAll();
  });
});

describe('tool calls', () => {
  const circular: { self?: unknown } = {};
  circular.self = circular;

  it('have exactly one result each in every case', async () => {
    const tools = [
      fast('fine', () => 'ok'),
      fast('throws', () => {
        throw new Error('no luck');
      }),
      fast('hangs', () => new Promise(() => undefined), { timeoutMs: 20 }),
      fast('circular', () => circular),
      fast('huge', () => 'x'.repeat(3_000_000)),
      fast('forbidden', () => 'ran'),
      tool<{ n: number }>({
        name: 'strict',
        description: '',
        input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        execute: () => 'ran',
      }),
    ];
    const names = ['fine', 'throws', 'hangs', 'circular', 'huge', 'forbidden', 'strict', 'unknown'];
    const { runtime, handle, model } = start(
      [
        {
          toolCalls: [
            ...names.map((name, index) => ({ id: `c${index}`, name, input: {} })),
            { id: 'c0', name: 'fine', input: {} },
            { name: 'fine', input: {}, malformed: '{"a' },
          ],
        },
        { text: 'done' },
      ],
      tools,
      [PermissionRule.all('allow'), PermissionRule.denyTool('forbidden')],
    );
    const events = await turn(handle, 'go');
    expect(events.at(-1)?.type).toBe('done');
    expect(openToolUses(handle.getHistory())).toEqual([]);
    const results = resultsOf(handle);
    expect(new Set(results.map(({ toolUseId }) => toolUseId)).size).toBe(10);
    const ends = new Map(
      events.flatMap((event) => (event.type === 'tool-end' ? [[event.toolUseId, event.result] as const] : [])),
    );
    expect(['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7'].map((id) => ends.get(id)?.code ?? 'ok')).toEqual([
      ...['ok', 'tool_failed', 'tool_timeout', 'ok', 'ok', 'denied', 'invalid_input', 'unknown_tool'],
    ]);
    expect(results.find(({ name }) => name === 'circular')?.content).toEqual({ self: '[circular]' });
    expect(JSON.stringify(results.find(({ name }) => name === 'huge')?.content).length).toBeLessThan(101_000);
    expect(codeOf(results.find(({ name }) => name === 'throws')?.content)).toBe('no luck');
    expect(events.some((event) => event.type === 'warning' && event.message.includes('two calls the id'))).toBe(true);
    expect(model.requests[1]?.messages.at(-1)?.content).toHaveLength(10);
    await runtime.shutdownAll();
  });

  it('end the run if a tool requires it, with a result', async () => {
    const { handle } = start(
      [{ toolCalls: [{ id: 'c', name: 'fatal', input: {} }] }],
      [
        fast('fatal', () => {
          throw new ToolFatalError('the disk burns');
        }),
      ],
    );
    const events = await turn(handle, 'go');
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'tool_fatal', message: 'the disk burns' } });
    await handle.finished;
    expect(resultsOf(handle)).toHaveLength(1);
  });

  it('end the run after repeated identical refusals', async () => {
    const call = { toolCalls: [{ name: 'rm', input: { path: '/' } }] };
    const { handle, model } = start(
      [call, call, call, call],
      [fast('rm', () => 'ran')],
      [PermissionRule.denyTool('rm')],
    );
    expect((await turn(handle, 'go')).at(-1)).toMatchObject({ type: 'error', error: { code: 'run_ended' } });
    expect(model.requests).toHaveLength(3);
  });

  it('have results in call order although they ran concurrently', async () => {
    const order: string[] = [];
    const waits = Promise.withResolvers<void>();
    const { runtime, handle } = start(
      [
        {
          toolCalls: [
            { id: 'a', name: 'slow', input: {} },
            { id: 'b', name: 'quick', input: {} },
          ],
        },
        { text: 'ok' },
      ],
      [
        fast('slow', async () => {
          await waits.promise;
          order.push('slow');
        }),
        fast('quick', () => {
          order.push('quick');
          waits.resolve();
        }),
      ],
    );
    await turn(handle, 'go');
    expect(order).toEqual(['quick', 'slow']);
    expect(resultsOf(handle).map(({ toolUseId }) => toolUseId)).toEqual(['a', 'b']);
    await runtime.shutdownAll();
  });
});

describe('a permission request', () => {
  const asking = () =>
    start(
      [
        { toolCalls: [{ id: 'c', name: 'rm', input: { path: 'a' } }] },
        { text: 'ok' },
        { toolCalls: [{ id: 'd', name: 'rm', input: { path: 'b' } }] },
        { text: 'ok' },
      ],
      [fast('rm', (input) => `removed ${JSON.stringify(input)}`)],
      [],
    );

  it('accepts only its own answer and leaves other input in place', async () => {
    const { runtime, handle } = asking();
    const first = turn(handle, 'go');
    const request = await next(handle, 'permission-request');
    expect(handle.state).toEqual({ kind: 'waiting-for-permission', requestIds: [request.requestId] });
    const { requestId } = request;
    const stale = expect.objectContaining({ code: 'stale_answer' });
    expect(() => handle.respondToPermission({ requestId: 'other', decision: 'allow' })).toThrow(stale);
    expect(() => handle.respondToPermission({ requestId, inputHash: 'f00', decision: 'allow' })).toThrow(stale);
    handle.sendInput('said meanwhile');
    handle.respondToPermission({ requestId, inputHash: request.inputHash, decision: 'allow' });
    await first;
    expect(resultsOf(handle)[0]).toMatchObject({ content: 'removed {"path":"a"}', isError: false });
    expect(() => handle.respondToPermission({ requestId, decision: 'allow' })).toThrow(stale);
    for await (const event of handle.subscribe({ from: request.seq + 1, only: ['permission-request'] })) {
      expect(event.type).toBe('permission-request');
      break;
    }
    await runtime.shutdownAll();
    expect(handle.getHistory().some(({ content }) => textOf(content) === 'said meanwhile')).toBe(true);
  });

  it('can be answered with another input or with no', async () => {
    const { runtime, handle } = asking();
    const first = turn(handle, 'go');
    const request: PermissionRequest = await next(handle, 'permission-request');
    handle.respondToPermission({ requestId: request.requestId, decision: 'allow', editedInput: { path: 'safe' } });
    await first;
    expect(resultsOf(handle)[0]?.content).toBe('removed {"path":"safe"}');
    const second = turn(handle, 'again');
    for await (const event of handle.subscribe({ from: handle.lastSeq, only: ['permission-request'] })) {
      if (event.type !== 'permission-request') continue;
      handle.respondToPermission({ requestId: event.requestId, decision: 'deny', message: 'not that one' });
      break;
    }
    await second;
    expect(codeOf(resultsOf(handle)[1]?.content)).toContain('not that one');
    await runtime.shutdownAll();
  });

  it('is not asked twice if the answer is remembered', async () => {
    const { runtime, handle } = start(
      [
        { toolCalls: [{ name: 'rm', input: { path: 'a' } }] },
        { toolCalls: [{ name: 'rm', input: { path: 'b' } }] },
        { text: 'ok' },
      ],
      [fast('rm', () => 'ran')],
      [],
    );
    const done = turn(handle, 'go');
    const { requestId } = await next(handle, 'permission-request');
    handle.respondToPermission({ requestId, decision: 'allow', remember: 'session' });
    expect((await done).filter(({ type }) => type === 'permission-request')).toHaveLength(1);
    expect(resultsOf(handle).map(({ isError }) => isError)).toEqual([false, false]);
    await runtime.shutdownAll();
  });

  it('counts as denied after the timeout', async () => {
    const runtime = new AgentRuntime({ askTimeoutMs: 10 });
    const registry = new ToolRegistry([fast('rm', () => 'ran')]);
    const model = new ScriptedModel([{ toolCalls: [{ name: 'rm', input: {} }] }, { text: 'ok' }]);
    const handle = runtime.spawn(new AgentSession('coder'), loop(model, registry, new PermissionManager()));
    await turn(handle, 'go');
    expect(resultsOf(handle)[0]).toMatchObject({ isError: true });
    await runtime.shutdownAll();
  });
});

describe('an interrupt', () => {
  const until = (name: string) =>
    fast(
      name,
      (_input, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );

  it.each([
    ['a model', [{ text: 'long', delayMs: 60_000 }], 'model-start'],
    ['a tool', [{ toolCalls: [{ name: 'wait', input: {} }] }], 'tool-start'],
    ['a question', [{ toolCalls: [{ name: 'ask', input: {} }] }], 'permission-request'],
  ] as const)('ends the turn in %s and leaves a history that a model accepts', async (_what, steps, moment) => {
    const runtime = new AgentRuntime();
    const registry = new ToolRegistry([until('wait'), until('ask')]);
    const permissions = new PermissionManager({ rules: [PermissionRule.allowTool('wait')] });
    const model = new ScriptedModel([...steps, { text: 'again' }]);
    const inner = loop(model, registry, permissions);
    const handle = runtime.spawn(new AgentSession('coder'), async (internals) => {
      for (;;) {
        try {
          return await inner(internals);
        } catch (error) {
          if (!internals.turnSignal.aborted || internals.signal.aborted) throw error;
        }
      }
    });
    handle.sendInput('go');
    await next(handle, moment);
    handle.interrupt();
    expect((await turn(handle, 'and now?')).at(-1)?.type).toBe('done');
    expect(openToolUses(handle.getHistory())).toEqual([]);
    await handle.shutdown();
    expect(handle.state.kind).toBe('done');
  });
});

describe('a tool that runs elsewhere', () => {
  it('receives its result through the handle', async () => {
    const runtime = new AgentRuntime();
    const handle = runtime.spawn(new AgentSession('coder'), async (internals) => {
      await internals.receive();
      const { output } = await internals.toolResult('t1');
      internals.send({ type: 'done', result: output });
    });
    const done = turn(handle, 'go');
    handle.sendToolResult('t1', ToolResult.ok(42));
    expect((await done).at(-1)).toMatchObject({ type: 'done', result: 42 });
    await handle.finished;
  });
});
