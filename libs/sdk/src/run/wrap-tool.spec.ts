import { describe, expect, it } from '@jest/globals';
import { block, modify, needApproval, settle, TestPlatform, terminate } from '../testing/index.ts';
import { isBlockedResult } from './agent-stopped.ts';
import { withRun } from './run-context.ts';
import { defineTool, toolInfo, wrapTool } from './wrap-tool.ts';

/** A tool with a countable side effect. */
function aTool() {
  const done: string[] = [];
  const tool = defineTool({
    name: 'delete_file',
    tags: ['destructive'],
    execute: async ({ path }: { path: string }) => {
      done.push(path);
      return `deleted ${path}`;
    },
  });
  return { tool, done };
}

async function aRun(server: TestPlatform, options = {}) {
  return (await server.client(options)).startRun();
}

describe('a wrapped tool', () => {
  it('runs if allowed, and reports once', async () => {
    const server = new TestPlatform();
    const run = await aRun(server);
    const { tool, done } = aTool();
    expect(await withRun(run, () => wrapTool(tool)({ path: 'a' }, { callId: 'c1' }))).toBe('deleted a');
    await run.end();
    expect(done).toEqual(['a']);
    expect(server.questions.map(({ phase, callId }) => [phase, callId])).toEqual([
      ['tool.before', 'c1'],
      ['tool.after', 'c1'],
    ]);
    expect(server.questions[1]).toMatchObject({ result: 'deleted a', metrics: { bytes_out: 11, duration_ms: 0 } });
    expect(server.eventsOf('tool.result')).toHaveLength(1);
  });

  it('does not run if refused', async () => {
    const server = new TestPlatform().rule({ tools: ['delete_*'], answer: block('Not here', 'r1') });
    const run = await aRun(server);
    const { tool, done } = aTool();
    const answer = await wrapTool(tool, { run })({ path: 'a' });
    expect(answer).toMatchObject({ blocked: true, code: 'AGENTLENS_TOOL_BLOCKED', reason: 'Not here' });
    expect(isBlockedResult(answer)).toBe(true);
    expect(done).toEqual([]);
    expect(run.stepIndex).toBe(0);
  });

  it('throws instead if configured, and distinguishes the end of the run', async () => {
    const server = new TestPlatform().rule({ tools: ['delete_file'], answer: terminate() });
    const { tool, done } = aTool();
    const ended = await aRun(server);
    await expect(wrapTool(tool, { run: ended, onBlock: 'throw' })({ path: 'a' })).rejects.toMatchObject({
      name: 'AgentStopped',
    });
    server.rule({ tools: ['delete_file'], answer: block() });
    const run = await aRun(server);
    await expect(wrapTool(tool, { run, onBlock: 'throw' })({ path: 'a' })).rejects.toMatchObject({
      name: 'ToolBlocked',
    });
    expect(done).toEqual([]);
  });

  it('runs with the decided arguments', async () => {
    const server = new TestPlatform().rule({ answer: modify({ path: '/tmp/a' }) });
    const { tool, done } = aTool();
    await wrapTool(tool, { run: await aRun(server) })({ path: '/etc/a' });
    expect(done).toEqual(['/tmp/a']);
  });

  it("rethrows the tool's error unchanged, and reports it", async () => {
    const server = new TestPlatform();
    const run = await aRun(server);
    const failure = new RangeError('disk full');
    const tool = defineTool({ name: 't', execute: () => Promise.reject(failure) });
    await expect(wrapTool(tool, { run })({})).rejects.toBe(failure);
    await run.end();
    expect(server.eventsOf('tool.result')[0]?.data).toMatchObject({
      outcome: 'error',
      error: { name: 'RangeError', message: 'disk full' },
    });
    expect(JSON.stringify(server.events)).not.toContain('wrap-tool.spec');
  });

  it('withholds a result that must not be used', async () => {
    const server = new TestPlatform().rule({ phases: ['tool.after'], answer: block('Holds secrets') });
    const { tool, done } = aTool();
    const answer = await wrapTool(tool, { run: await aRun(server) })({ path: 'a' });
    expect([done, answer]).toEqual([['a'], expect.objectContaining({ blocked: true, reason: 'Holds secrets' })]);
  });

  it('waits for a human and continues after approval', async () => {
    const server = new TestPlatform().rule({ answer: needApproval() });
    const { tool, done } = aTool();
    const calling = wrapTool(tool, { run: await aRun(server) })({ path: 'a' });
    await settle();
    expect([server.approvals.pending.length, done]).toEqual([1, []]);
    server.approvals.approve();
    expect(await calling).toBe('deleted a');
    expect(done).toEqual(['a']);
  });

  it('does not run if the human denies it or does not answer in time', async () => {
    const server = new TestPlatform().rule({ answer: needApproval() });
    const { tool, done } = aTool();
    const run = await aRun(server);
    const denied = wrapTool(tool, { run })({ path: 'a' });
    await settle();
    server.approvals.deny(undefined, 'too risky');
    expect(await denied).toMatchObject({ reason: 'The approval was denied: too risky' });
    const silent = wrapTool(tool, { run, waitForApproval: { timeoutMs: 60_000 } })({ path: 'b' });
    await server.clock.advance(60_000);
    expect(await silent).toMatchObject({ blocked: true });
    expect(done).toEqual([]);
  });

  it('tells the model that the call waits, goes on, and uses the approval that comes later', async () => {
    const server = new TestPlatform().rule({ answer: needApproval() });
    const { tool, done } = aTool();
    const run = await aRun(server);
    const guarded = wrapTool(tool, { run, waitForApproval: false });
    const [one, other] = [await guarded({ path: 'a' }, { callId: 'c1' }), await guarded({ path: 'b' })];
    expect(one).toMatchObject({ code: 'AGENTLENS_WAITS_FOR_APPROVAL', approvalId: 'approval-1' });
    expect(other).toMatchObject({ code: 'AGENTLENS_WAITS_FOR_APPROVAL', approvalId: 'approval-2' });
    await expect(run.beforeLlm([])).resolves.toEqual([]);
    server.approvals.approve('approval-1');
    expect(await guarded({ path: 'a' }, { callId: 'c9' })).toBe('deleted a');
    expect(done).toEqual(['a']);
    expect(server.approvals.all).toHaveLength(2);
  });

  it('uses one approval for one of two equal calls, whichever comes first', async () => {
    const server = new TestPlatform().rule({ answer: needApproval() });
    const { tool, done } = aTool();
    const run = await aRun(server);
    const parked = wrapTool(tool, { run, waitForApproval: false });
    await parked({ path: 'a' });
    server.approvals.approve();
    const answers = await Promise.all([parked({ path: 'a' }), parked({ path: 'a' })]);
    expect(done).toEqual(['a']);
    expect(answers).toEqual(['deleted a', expect.objectContaining({ code: 'AGENTLENS_WAITS_FOR_APPROVAL' })]);
  });

  it('asks for each of two equal calls that wait at the same time', async () => {
    const server = new TestPlatform().rule({ answer: needApproval() });
    const { tool, done } = aTool();
    const run = await aRun(server);
    const guarded = wrapTool(tool, { run });
    const [one, other] = [guarded({ path: 'a' }), guarded({ path: 'a' })];
    await settle();
    server.approvals.approve('approval-1');
    await one;
    expect(done).toEqual(['a']);
    await settle();
    server.approvals.approve('approval-2');
    await other;
    expect(done).toEqual(['a', 'a']);
  });

  it('learns of an approval by polling if no message arrives', async () => {
    const server = new TestPlatform().rule({ answer: needApproval() });
    const { tool } = aTool();
    const run = await aRun(server, { control: 'off' });
    const calling = wrapTool(tool, { run, waitForApproval: { pollMs: 2_000 } })({ path: 'a' });
    await settle();
    server.approvals.approve();
    await server.clock.advance(2_000);
    expect(await calling).toBe('deleted a');
  });

  it('stops waiting when the run is killed', async () => {
    const server = new TestPlatform().rule({ answer: needApproval() });
    const { tool, done } = aTool();
    const run = await aRun(server);
    const calling = wrapTool(tool, { run })({ path: 'a' });
    await settle();
    server.control.kill(run.id, 'enough');
    expect(await calling).toMatchObject({ code: 'AGENTLENS_RUN_ENDED' });
    expect(server.approvals.all).toMatchObject([{ status: 'cancelled', reason: 'enough' }]);
    expect(done).toEqual([]);
  });

  it('forwards a stream and reports when it ends', async () => {
    const server = new TestPlatform();
    const run = await aRun(server);
    async function* numbers() {
      yield 1;
      yield 2;
    }
    const stream = await wrapTool(defineTool({ name: 't', execute: () => numbers() }), { run })({});
    expect(server.questions).toHaveLength(1);
    const seen: number[] = [];
    for await (const item of stream as AsyncIterable<number>) seen.push(item);
    expect(seen).toEqual([1, 2]);
    expect(server.questions[1]?.result).toEqual({ items: 2 });
  });

  it('throws outside a run instead of running unguarded', async () => {
    const { tool, done } = aTool();
    await expect(wrapTool(tool)({ path: 'a' })).rejects.toThrow('outside of withRun');
    expect(done).toEqual([]);
  });

  it('runs concurrently with others, one of which is blocked', async () => {
    const server = new TestPlatform().rule({
      when: ({ args }) => (args as { path: string }).path === 'b',
      answer: block(),
    });
    const { tool, done } = aTool();
    const wrapped = wrapTool(tool, { run: await aRun(server) });
    const answers = await Promise.all(['a', 'b', 'c'].map((path) => wrapped({ path })));
    expect(answers.map(isBlockedResult)).toEqual([false, true, false]);
    expect(done).toEqual(['a', 'c']);
  });
});

describe('toolInfo', () => {
  it('returns what the platform receives about a tool', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    expect(await client.registerTools([toolInfo(aTool().tool)])).toBe(true);
    expect(server.tools).toMatchObject([{ key: 'function:delete-file', metadata: { metadata: ['destructive'] } }]);
  });
});
