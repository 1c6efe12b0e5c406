import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { kvConnector } from '../connectors/local.ts';
import { AgentError } from '../core/agent-error.ts';
import { InMemoryDatabaseClient } from '../memory/in-memory-database-client.ts';
import { PermissionRule } from '../permissions/rule.ts';
import { Cassette } from '../replay/cassette.ts';
import { AgentRuntime } from '../runtime/agent-runtime.ts';
import { patternFilter } from '../safety/content-filter.ts';
import { staticKeys } from '../security/sealed.ts';
import { MemorySessionStore } from '../session/memory-session-store.ts';
import { ScriptedModel, type ScriptStep } from '../testing/scripted-model.ts';
import { tool } from '../tools/tool.ts';
import { Agent } from './agent.ts';
import type { AgentConfig } from './agent-config.ts';
import type { PlanStep } from './planner-state.ts';
import { scriptedPlanner } from './planners.ts';

const agent = (steps: readonly ScriptStep[], more: Partial<AgentConfig> = {}) =>
  new Agent({
    id: 'a',
    taskPrompt: 'Do it.',
    modelProviders: [new ScriptedModel(steps)],
    permissions: [PermissionRule.all('allow')],
    ...more,
  });
const sideEffects: string[] = [];
const act = tool<{ text?: string }>({
  ...{
    name: 'act',
    description: 'Acts.',
    category: 'write',
    input: { type: 'object', properties: { text: { type: 'string' } } },
  },
  execute: ({ text = '' }) => {
    sideEffects.push(text);
    return text;
  },
});

describe('a run', () => {
  it('stops at its step limit without revealing the limit', async () => {
    const result = await agent(
      Array.from({ length: 9 }, () => ({ toolCalls: [{ name: 'act', input: {} }] })),
      { tools: [act], maxSteps: 3 },
    ).run();
    expect(result).toMatchObject({ success: false, error: { code: 'limit_reached' } });
    expect(result.actions).toHaveLength(3);
    expect(result.error?.message).not.toMatch(/3/);
  });

  it('stops at its token limit and its cost limit', async () => {
    const call: ScriptStep = {
      toolCalls: [{ name: 'act', input: {} }],
      usage: { inputTokens: 600, outputTokens: 0 },
      costUsd: 2,
    };
    expect(await agent([call, call, call], { tools: [act], limits: { maxTokens: 1_000 } }).run()).toMatchObject({
      error: { code: 'limit_reached' },
    });
    expect(await agent([call, call, call], { tools: [act], limits: { maxCostUsd: 3 } }).run()).toMatchObject({
      error: { code: 'limit_reached' },
      steps: 2,
    });
  });

  it('asks for another answer until it matches the schema, then gives up', async () => {
    const output = z.object({ n: z.number() });
    const config = { output };
    expect(
      await agent([{ text: 'five' }, { text: '{"n": "5"}' }, { text: '```json\n{"n": 5}\n```' }], config).run(),
    ).toMatchObject({ success: true, result: { n: 5 }, steps: 3 });
    expect(await agent([{ text: 'a' }, { text: 'b' }, { text: 'c' }, { text: '{"n":1}' }], config).run()).toMatchObject(
      { success: false, error: { code: 'output_invalid' }, steps: 3 },
    );
  });

  it('needs no model if its planner needs none', async () => {
    const kv = new Map();
    const steps: PlanStep[] = [
      { type: 'tool', toolId: 'kv', input: { op: 'set', key: 'k', value: 1 }, reason: 'keep it' },
      { type: 'internal', message: 'kept' },
      {
        type: 'tool',
        calls: [
          { toolId: 'kv', input: { op: 'get', key: 'k' } },
          { toolId: 'kv', input: { op: 'delete', key: 'k' } },
        ],
      },
      { type: 'finish', result: { done: true } },
    ];
    const result = await agent([], {
      modelProviders: [],
      planner: scriptedPlanner(steps),
      tools: [kvConnector({ map: kv })],
      permissions: [],
    }).run();
    expect(result).toMatchObject({ success: true, result: { done: true }, steps: 4 });
    expect(result.actions.map(({ output }) => output)).toEqual(['kept', 1, true]);
  });

  it('can use another reflector', async () => {
    const reflector = { reflect: async () => ({ next: 'abort' as const, note: 'enough' }) };
    expect(await agent([{ text: 'x' }], { reflector }).run()).toMatchObject({
      success: false,
      aborted: true,
      error: { message: 'enough' },
    });
  });

  it('can use another executor', async () => {
    const executor = {
      execute: async ({
        id,
        name,
        input,
      }: {
        id: string;
        name: string;
        input: object | null | string | number | boolean;
      }) => ({
        type: 'tool' as const,
        toolId: name,
        toolUseId: id,
        input: JSON.stringify(input),
        output: 'theirs',
        isError: false,
        durationMs: 0,
      }),
    };
    const model = new ScriptedModel([{ toolCalls: [{ name: 'elsewhere', input: {} }] }, { text: 'ok' }]);
    const result = await agent([], { modelProviders: [model], executor }).run();
    expect(result).toMatchObject({ success: true, actions: [{ output: 'theirs' }] });
    expect(model.requests[1]?.messages.at(-1)?.content[0]).toMatchObject({ type: 'tool_result', content: 'theirs' });
  });

  it('is not affected by a hook that throws', async () => {
    const hooks = {
      onStepStart: () => {
        throw new Error('hook bug');
      },
    };
    const failing = agent([{ text: 'ok' }], { hooks });
    failing.on('metrics', () => {
      throw new Error('handler bug');
    });
    const result = await failing.run();
    expect(result).toMatchObject({ success: true, result: 'ok' });
    expect(result.diagnostics.warnings).toEqual([expect.stringContaining('hook bug')]);
  });

  it('calls hooks for steps, tokens, calls and errors', async () => {
    const calls: string[] = [];
    const hooks: AgentConfig['hooks'] = {
      onStepStart: ({ step }) => calls.push(`step ${step}`),
      onModelTokens: (tokens) => 'text' in tokens && calls.push(`text ${tokens.text}`),
      onToolCall: (id) => calls.push(`call ${id}`),
      onError: ({ code }) => calls.push(`error ${code}`),
    };
    await agent([{ text: 'hm', toolCalls: [{ name: 'act', input: {} }] }, { error: 'model_unauthorized' }], {
      tools: [act],
      hooks,
    }).run();
    expect(calls).toEqual(['step 1', 'text hm', 'call act', 'step 2', 'error model_unauthorized']);
  });

  it('denies at once what would be asked if no one can answer', async () => {
    const result = await agent([{ toolCalls: [{ name: 'act', input: {} }] }, { text: 'I was not allowed.' }], {
      tools: [act],
      permissions: [],
    }).run();
    expect(result.actions[0]).toMatchObject({ isError: true, code: 'no_one_to_ask' });
    expect(result).toMatchObject({ success: true, result: 'I was not allowed.' });
  });

  it('can be stopped from outside', async () => {
    const controller = new AbortController();
    const running = agent([{ text: 'x', delayMs: 60_000 }]);
    running.on('model-start', () => controller.abort());
    expect(await running.run({ signal: controller.signal })).toMatchObject({
      ...{ success: false, aborted: true, error: { code: 'aborted' } },
    });
  });

  it('uses one error code for an abort, in its result and in its events', async () => {
    const active = agent([{ text: 'x', delayMs: 60_000 }]).createSession();
    const handle = await active.start();
    const codes: unknown[] = [];
    const watching = (async () => {
      for await (const event of handle.subscribe({ from: 'start' })) {
        if (event.type === 'model-start') active.abort();
        if (event.type === 'model-end' || event.type === 'error') codes.push(event.error?.code);
        if (event.type === 'error') return;
      }
    })();
    const result = await active.run();
    await watching;
    expect([result.error?.code, ...codes]).toEqual(['aborted', 'aborted', 'aborted']);
    await active[Symbol.asyncDispose]();
  });

  it.each([
    ['maxToken', { limits: { maxToken: 5 } }],
    ['maxSteps', { maxSteps: -1 }],
    ['maxCostUsd', { limits: { maxCostUsd: '5' } }],
  ])('rejects an ineffective limit: %s', (name, config) => {
    expect(() => agent([], config as object)).toThrow(
      expect.objectContaining({ code: 'invalid_config', message: expect.stringContaining(name) }),
    );
  });

  it('does not start if it was stopped before', async () => {
    const model = new ScriptedModel([{ text: 'never' }, { text: 'never' }]);
    const stopped = { success: false, aborted: true, error: { code: 'aborted' } };
    expect(await agent([], { modelProviders: [model] }).run({ signal: AbortSignal.abort() })).toMatchObject(stopped);
    const active = agent([], { modelProviders: [model] }).createSession();
    active.abort();
    expect(await active.run()).toMatchObject(stopped);
    expect(model.requests).toEqual([]);
    expect(await active.run('again')).toMatchObject({ success: true });
    await active[Symbol.asyncDispose]();
  });

  it('does not accept a truncated answer as complete', async () => {
    const cut: ScriptStep = { text: 'half', cutOff: true };
    const retry = { model: { tries: 2, minMs: 0, maxMs: 0 } };
    const result = await agent([cut, cut], { retry }).run();
    expect(result).toMatchObject({ success: false, error: { code: 'model_cut_off' }, retryInfo: { attempts: 2 } });
    expect(await agent([{ text: 'half', stopReason: 'max_tokens' }]).run()).toMatchObject({
      success: false,
      error: { code: 'model_cut_off' },
    });
    expect(await agent([cut, { text: 'whole' }], { retry }).run()).toMatchObject({ success: true, result: 'whole' });
  });

  it('falls back to the next provider, and gives the reasons when none is left', async () => {
    const down = new ScriptedModel([{ error: 'model_unauthorized' }]);
    const up = new ScriptedModel([{ text: 'from the second' }]);
    const result = await agent([], {
      modelProviders: [
        { id: 'one', client: down, priority: 1 },
        { id: 'two', client: up },
      ],
    }).run();
    expect(result).toMatchObject({ success: true, result: 'from the second', modelCalls: [{ provider: 'two' }] });
    const none = await agent([], {
      modelProviders: [
        { id: 'small', client: up, supports: { maxTokens: 1 } },
        { id: 'plain', client: up, supports: { tools: false } },
        { id: 'dear', client: up, price: { input: 1e6, output: 1e6 } },
      ],
      tools: [act],
      costCeilingUsd: 0.01,
    }).run();
    expect(none.error).toMatchObject({
      code: 'model_unavailable',
      info: { rejected: { small: 'takes fewer tokens', plain: 'has no tools', dear: 'costs more than allowed' } },
    });
  });
});

describe('events of a run', () => {
  it('can be stored for later reading', async () => {
    const databaseClient = new InMemoryDatabaseClient();
    const result = await agent([{ text: 'mail a@b.example' }], { databaseClient }).run({ events: 'stored' });
    expect(result.eventStream).toBe(`agent-events/${result.runId}/`);
    const [page] = await databaseClient.query('agent-events', { prefix: `${result.runId}/` });
    expect(page?.value).toMatchObject({ events: expect.arrayContaining([expect.objectContaining({ type: 'done' })]) });
    expect(JSON.stringify(page)).not.toContain('a@b.example');
    expect(() => agent([]).createSession({ events: 'stored' })).toThrow(
      expect.objectContaining({ code: 'invalid_config' }),
    );
  });
});

describe('two runs', () => {
  const script = () => [
    {
      text: 'a',
      toolCalls: [
        { name: 'act', input: { text: '1' } },
        { name: 'act', input: { text: '2' } },
      ],
    },
    { text: 'end', usage: { inputTokens: 3 } },
  ];

  it('are byte-identical for the same seed', async () => {
    const run = () =>
      agent(script(), { tools: [act] }).run({ seed: 5, startAt: '2026-01-01T00:00:00.000Z', events: 'inline' });
    const [first, second] = [await run(), await run()];
    expect(first.success).toBe(true);
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    expect(first).toMatchObject({ deterministic: true, seed: 5 });
  });

  it('are byte-identical in twenty runs with parallel tools of random duration', async () => {
    const slow = tool<{ ms: number }>({
      name: 'slow',
      description: '',
      input: { type: 'object' },
      execute: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(ms), ms)),
    });
    const calls = () =>
      Array.from({ length: 3 }, () => ({ name: 'slow', input: { ms: Math.floor(Math.random() * 10) } }));
    const cassette = new Cassette();
    const steps = [
      { text: 'one two', toolCalls: calls() },
      { toolCalls: calls() },
      { toolCalls: calls() },
      { text: 'end' },
    ];
    const recorded = await agent(steps, { tools: [slow] }).run({ record: cassette, events: 'inline' });
    expect(recorded.success).toBe(true);
    const text = JSON.stringify(cassette);
    for (let turn = 0; turn < 20; turn++) {
      const replayed = await agent([], { tools: [slow] }).run({
        replay: Cassette.from(JSON.parse(text)),
        events: 'inline',
      });
      expect(JSON.stringify(replayed)).toBe(JSON.stringify(recorded));
    }
  });

  it('are compared with the recording up to the first difference', async () => {
    const cassette = new Cassette();
    await agent(script(), { tools: [act] }).run({ record: cassette });
    const replay = () => Cassette.from(JSON.parse(JSON.stringify(cassette)));
    const other = await agent([], { tools: [act], taskPrompt: 'Do something else.' }).run({ replay: replay() });
    expect(other.error).toMatchObject({
      code: 'replay_mismatch',
      info: { kind: 'model', path: '$.messages[0].content[0].text' },
    });
    const without = await agent([]).run({ replay: replay() });
    expect(without.error).toMatchObject({ code: 'replay_mismatch', info: { path: '$.tools' } });
    const longer = replay();
    longer.entries.push({
      ...longer.entries[0],
      n: longer.entries.length + 1,
      kind: 'tool',
      hash: 'x',
      occurrence: 0,
      at: 0,
    });
    expect((await agent([], { tools: [act] }).run({ replay: longer })).error).toMatchObject({
      code: 'replay_mismatch',
    });
  });

  it('are rejected if the cassette is malformed', () => {
    for (const json of [null, {}, { schemaVersion: 1, seed: 1, startAt: 1, entries: [{ n: 2 }] }])
      expect(() => Cassette.from(json)).toThrow(AgentError);
    expect(() => Cassette.from({ schemaVersion: 2, seed: 1, startAt: 1, entries: [] })).toThrow(
      expect.objectContaining({ code: 'schema_too_new' }),
    );
  });
});

describe('the safety policy', () => {
  const call = (text: string): ScriptStep => ({ toolCalls: [{ name: 'act', input: { text } }] });
  const run = async (safety: AgentConfig['safety'], steps: readonly ScriptStep[], more: Partial<AgentConfig> = {}) => {
    sideEffects.length = 0;
    const result = await agent(steps, { tools: [act], safety, ...more }).run({ events: 'inline' });
    const events = Array.isArray(result.eventStream) ? result.eventStream.filter(({ type }) => type === 'safety') : [];
    return { result, events, effects: [...sideEffects] };
  };
  const bomb = (
    phases: readonly ('prompt' | 'plan' | 'tool-input' | 'tool-output' | 'result')[],
    control?: 'terminate',
  ) => patternFilter({ name: 'bombs', patterns: ['bomb'], phases, ...(control === undefined ? {} : { control }) });

  it('removes tools that are not allowed or are denied', async () => {
    const listed = await run({ toolAllowlist: ['other'] }, [call('x'), { text: 'ok' }]);
    expect(listed.result.actions[0]).toMatchObject({ code: 'unknown_tool' });
    expect(listed.effects).toEqual([]);
    const denied = await run({ toolDenylist: ['act'] }, [call('x'), { text: 'ok' }]);
    expect([denied.effects, denied.events]).toEqual([
      [],
      [expect.objectContaining({ phase: 'plan', action: 'block' })],
    ]);
  });

  it('limits the call rate of a tool', async () => {
    const { result, effects } = await run({ requestRateLimit: { act: { max: 2, perMs: 60_000 } } }, [
      call('1'),
      call('2'),
      call('3'),
      { text: 'ok' },
    ]);
    expect(effects).toEqual(['1', '2']);
    expect(result.actions[2]).toMatchObject({ code: 'rate_limited' });
  });

  it('withholds a bad input from its tool, and ends the run if configured', async () => {
    const goesOn = await run({ contentFilter: [bomb(['tool-input'])] }, [call('a bomb'), { text: 'ok' }]);
    expect([goesOn.effects, goesOn.result.actions[0]?.code, goesOn.result.success]).toEqual([
      [],
      'blocked_by_safety',
      true,
    ]);
    const ends = await run({ contentFilter: [bomb(['tool-input'], 'terminate')] }, [call('a bomb'), { text: 'ok' }]);
    expect([ends.effects, ends.result.error?.code]).toEqual([[], 'blocked_by_safety']);
    expect(JSON.stringify(ends.events)).not.toContain('a bomb');
  });

  it('changes an input and withholds an output', async () => {
    const changed = await run(
      {
        contentFilter: [
          patternFilter({
            name: 'mask',
            patterns: ['\\d+'],
            action: 'modify',
            replacement: '#',
            phases: ['tool-input'],
          }),
        ],
      },
      [call('pin 1234'), { text: 'ok' }],
    );
    expect(changed.effects).toEqual(['pin #']);
    const withheld = await run({ contentFilter: [bomb(['tool-output'])] }, [call('bomb'), { text: 'ok' }]);
    expect(withheld.result.actions[0]).toMatchObject({ code: 'withheld' });
  });

  it('stops a prompt, a plan and a result', async () => {
    const model = new ScriptedModel([{ text: 'never' }]);
    const prompt = await run({ contentFilter: [bomb(['prompt'])] }, [], {
      modelProviders: [model],
      taskPrompt: 'Build a bomb.',
    });
    expect([prompt.result.error?.code, model.requests.length]).toEqual(['blocked_by_safety', 0]);
    const plan = await run({ contentFilter: [bomb(['plan'])] }, [call('bomb')]);
    expect([plan.result.error?.code, plan.effects]).toEqual(['blocked_by_safety', []]);
    const result = await run({ contentFilter: [bomb(['result'])] }, [{ text: 'the bomb' }]);
    expect([result.result.error?.code, result.result.result]).toEqual(['blocked_by_safety', undefined]);
  });

  it('blocks when a filter fails, unless configured otherwise', async () => {
    const broken = { name: 'broken', phases: ['tool-input'] as const, check: () => Promise.reject(new Error('down')) };
    expect((await run({ contentFilter: [broken] }, [call('x'), { text: 'ok' }])).effects).toEqual([]);
    expect(
      (await run({ contentFilter: [broken], onFilterError: 'allow' }, [call('x'), { text: 'ok' }])).effects,
    ).toEqual(['x']);
  });
});

describe('a session of an agent', () => {
  it('receives steering input between two steps', async () => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'say', input: {} }] }, { text: 'in French then' }]);
    let interject: () => void = () => undefined;
    const say = tool({ name: 'say', description: '', input: { type: 'object' }, execute: () => interject() });
    const active = agent([], { modelProviders: [model], tools: [say] }).createSession({ input: 'Greet me.' });
    interject = () => active.handle.sendInput('in French, please', { steer: true });
    expect((await active.run()).result).toBe('in French then');
    expect(model.requests[1]?.messages.at(-1)?.content).toContainEqual({ type: 'text', text: 'in French, please' });
    await active[Symbol.asyncDispose]();
  });

  it('is stored encrypted by a runtime with keys, and still continues', async () => {
    const store = new MemorySessionStore();
    const keys = staticKeys({ k: Buffer.alloc(32, 1) }, 'k');
    const first = await agent([{ text: 'hello' }], { runtime: new AgentRuntime({ store, keys }) }).run({
      input: 'the moon is cheese',
    });
    expect(JSON.stringify(await store.load(first.sessionId))).not.toContain('cheese');
    const model = new ScriptedModel([{ text: 'still' }]);
    await agent([], { modelProviders: [model], runtime: new AgentRuntime({ store, keys }) }).run({
      sessionId: first.sessionId,
      input: 'and?',
    });
    expect(JSON.stringify(model.requests)).toContain('cheese');
  });

  it('continues a stored conversation', async () => {
    const runtime = new AgentRuntime();
    const first = await agent([{ text: 'hello Ann' }], { runtime }).run({ input: 'I am Ann' });
    const model = new ScriptedModel([{ text: 'Ann' }]);
    const second = await agent([], { runtime, modelProviders: [model] }).run({
      sessionId: first.sessionId,
      input: 'Who am I?',
    });
    expect(second).toMatchObject({ success: true, result: 'Ann', sessionId: first.sessionId });
    expect(model.requests[0]?.messages).toHaveLength(3);
    expect(model.requests[0]?.system).toBe('Do it.');
  });

  it('reports why it could not start', async () => {
    const runtime = new AgentRuntime();
    const other = agent([{ text: 'x' }], { runtime });
    const active = other.createSession();
    await active.run();
    await expect(agent([], { runtime }).run({ sessionId: active.id })).rejects.toMatchObject({ code: 'session_busy' });
    await active[Symbol.asyncDispose]();
  });

  it('reports the health of its agent', async () => {
    const own = agent([{ text: 'x' }]);
    await own.run();
    expect(await own.health()).toMatchObject({
      ok: true,
      activeSessions: 0,
      providers: { 'model-1': { failuresInARow: 0 } },
    });
    await own.stop();
  });
});
