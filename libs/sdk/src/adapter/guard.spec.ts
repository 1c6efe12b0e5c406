import { describe, expect, it } from '@jest/globals';
import { AgentStopped } from '../run/agent-stopped.ts';
import { getCurrentRun, withRun } from '../run/run-context.ts';
import { block, modify, settle, TestPlatform, terminate } from '../testing/index.ts';
import { Guard, refusalText, stoppedBy } from './index.ts';

const ADAPTER = { name: 'test-adapter' };

async function aGuard(server: TestPlatform, warnings: string[] = []): Promise<Guard> {
  const logger = { warn: (message: string) => void warnings.push(message) };
  return new Guard(await server.client({ logger }), ADAPTER);
}

const call = (name: string, id = 'c1') => ({ id, name, args: {} });

describe('runs of an adapter', () => {
  it('start and end with the agent', async () => {
    const server = new TestPlatform();
    const guard = await aGuard(server);
    expect(await guard.within('input', ({ run }) => getCurrentRun() === run)).toBe(true);
    await expect(
      guard.within('input', () => {
        throw new Error('broken');
      }),
    ).rejects.toThrow('broken');
    expect(server.runs.map(({ status }) => status)).toEqual(['success', 'error']);
  });

  it('are child runs inside a tool call and reuse the current run elsewhere', async () => {
    const server = new TestPlatform();
    const guard = await aGuard(server);
    const inner = () => guard.within('inner', ({ run }) => run);
    await guard.within('outer', async (scope) => {
      expect(await inner()).toBe(scope.run);
      const child = await scope.tools.call(call('helper', 'h1'), inner, refusalText);
      expect(child).not.toBe(scope.run);
      expect(await inner()).toBe(scope.run);
    });
    const [parent, child] = server.runs;
    expect(child?.start).toMatchObject({ parentRunId: parent?.id, parentToolUseId: 'h1' });
  });

  it('belong to the user, who ends them', async () => {
    const server = new TestPlatform();
    const guard = await aGuard(server);
    const run = await guard.lens.startRun();
    expect(await withRun(run, () => guard.within('input', (scope) => scope.run))).toBe(run);
    expect(server.runs.map(({ status }) => status)).toEqual(['running']);
  });

  it('are interrupted by a terminating refusal even if the framework swallows it', async () => {
    const server = new TestPlatform().rule({ tools: ['rm'], answer: terminate('No more') });
    const guard = await aGuard(server);
    const agent = guard.within('input', async ({ tools }) => {
      await tools.call(call('rm'), () => 'removed', refusalText);
      return 'the framework went on';
    });
    await expect(agent).rejects.toThrow(AgentStopped);
    expect(server.runs[0]?.status).toBe('interrupted');
  });

  it('are current at each step of a generator that other code iterates', async () => {
    const guard = await aGuard(new TestPlatform());
    async function* body() {
      yield getCurrentRun()?.id;
      await settle();
      yield getCurrentRun()?.id;
    }
    const seen: unknown[] = [];
    for await (const id of guard.streaming('input', () => body())) seen.push(id);
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).toEqual(expect.any(String));
  });

  it('end as interrupted when the reader abandons a stream', async () => {
    const server = new TestPlatform();
    const guard = await aGuard(server);
    async function* endless() {
      for (;;) yield 1;
    }
    for await (const _ of guard.streaming('input', () => endless())) break;
    expect(server.runs[0]?.status).toBe('interrupted');
  });
});

describe('tool calls of an adapter', () => {
  it('run with the decided arguments or not at all', async () => {
    const server = new TestPlatform()
      .rule({ tools: ['write'], answer: modify({ path: '/tmp' }) })
      .rule({ tools: ['rm'], answer: block('no') });
    const guard = await aGuard(server);
    const ran: unknown[] = [];
    const run = (args: unknown) => ran.push(args);
    await guard.within('input', async ({ tools }) => {
      await tools.call(call('write', 'c1'), run, refusalText);
      expect(await tools.call(call('rm', 'c2'), run, refusalText)).toContain('no');
    });
    expect(ran).toEqual([{ path: '/tmp' }]);
  });

  it('throw outside a run instead of running unguarded', async () => {
    const guard = await aGuard(new TestPlatform());
    expect(() => guard.here()).toThrow('outside of a run');
  });

  it('warn once if no model call is seen', async () => {
    const warnings: string[] = [];
    const guard = await aGuard(new TestPlatform(), warnings);
    for (const _ of [1, 2])
      await guard.within('input', async ({ tools }) => {
        for (const id of ['a', 'b', 'c', 'd']) await tools.call(call('t', id), () => 1, refusalText);
      });
    expect(warnings).toEqual([expect.stringContaining('the model of this agent is not guarded')]);
  });

  it('are recorded but not decided if they ran elsewhere', async () => {
    const server = new TestPlatform();
    const guard = await aGuard(server);
    await guard.within('input', (scope) => scope.observeTool(call('web_search'), { result: 'x' }));
    expect(server.eventsOf('tool.decision')).toEqual([]);
    expect(server.eventsOf('tool.result')[0]?.data).toMatchObject({
      tool: { name: 'web_search', categories: ['provider-executed'] },
    });
  });
});

describe('the cause of a stop', () => {
  it('is found inside framework errors, even in cycles', () => {
    const stopped = Object.assign(new Error('no'), { name: 'AgentStopped', decision: {} });
    expect(stoppedBy(new Error('outer', { cause: { errors: [new Error('x'), { error: stopped }] } }))).toBe(stopped);
    const circular: { cause?: unknown } = {};
    circular.cause = circular;
    expect(stoppedBy(circular)).toBeUndefined();
  });
});

describe('options of a guard', () => {
  it('are rejected if misspelt', async () => {
    const lens = await new TestPlatform().client();
    const wrong = { waitforapproval: true } as object;
    expect(() => new Guard(lens, ADAPTER, wrong)).toThrow(
      'guard: waitforapproval is no option; did you mean waitForApproval?',
    );
    expect(() => new Guard(lens, ADAPTER, { observe: 'all' } as object)).toThrow('guard: observe must be');
  });
});
