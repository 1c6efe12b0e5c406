import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { allow, block, modify, needApproval, settle, TestPlatform, terminate } from '../testing/index.ts';
import { AgentStopped } from './agent-stopped.ts';
import { getCurrentRun, withRun } from './run-context.ts';

const MODEL = { name: 'test-model', provider: 'test' };

describe('a run', () => {
  it('emits events in the vocabulary of the protocol', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const run = await client.startRun({
      runId: 'run-1',
      sessionId: 'session-1',
      actor: { externalId: 'user-1', metadata: { plan: 'free' } },
      tags: { env: 'test' },
      parentRunId: 'parent',
      parentToolUseId: 'call-0',
    });
    await run.beforeLlm([{ role: 'user', content: 'hi' }]);
    await run.afterLlm({
      content: [{ type: 'text', text: 'hello' }],
      model: MODEL,
      usage: { inputTokens: 10, outputTokens: 2 },
    });
    const decision = await run.beforeTool('search', { q: 'x' }, ['web']);
    await run.afterTool('search', { q: 'x' }, 'found', 12, undefined, ['web']);
    await run.end();
    expect(server.runs).toMatchObject([
      {
        id: 'run-1',
        status: 'success',
        start: { sessionId: 'session-1', parentRunId: 'parent', tags: { env: 'test' } },
      },
    ]);
    expect(server.events.map(({ kind, stepIndex }) => [kind, stepIndex])).toEqual([
      ['run.started', undefined],
      ['message.raw.created', 0],
      ['llm.result', 0],
      ['message.raw.created', 0],
      ['tool.decision', 0],
      ['tool.result', 0],
      ['run.ended', undefined],
    ]);
    const envelope = { runId: 'run-1', sessionId: 'session-1', actorExternalId: 'user-1', parentRunId: 'parent' };
    for (const event of server.events) expect(event).toMatchObject({ ...envelope, schema: 'handlebar.audit.v1' });
    expect(server.eventsOf('llm.result')[0]?.data).toMatchObject({ model: MODEL, tokens: { in: 10, out: 2 } });
    expect(server.eventsOf('tool.decision')[0]?.data).toMatchObject({
      verdict: 'ALLOW',
      tool: { name: 'search', categories: ['web'] },
      callId: decision.callId,
      source: 'remote',
    });
    expect(server.eventsOf('tool.result')[0]?.data).toMatchObject({ outcome: 'success', callId: decision.callId });
    expect(server.eventsOf('run.ended')[0]?.data).toEqual({ status: 'success', totalSteps: 1 });
    expect(new Set(server.events.map(({ id }) => id)).size).toBe(server.events.length);
  });

  it('sends everything that a rule may read', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const run = await client.startRun({ actor: { externalId: 'u', metadata: { plan: 'pro' } }, tags: { env: 'x' } });
    await run.afterLlm({ content: [], model: MODEL, usage: { inputTokens: 7, outputTokens: 3 } });
    const subjects = [{ subjectType: 'customer', value: 'c1' }];
    await run.beforeTool('pay', { eur: '5€' }, { callId: 'c-9', tags: ['money'], subjects, metrics: { risk: 2 } });
    expect(server.questions).toEqual([
      {
        runId: run.id,
        phase: 'tool.before',
        agentId: 'agent-1',
        callId: 'c-9',
        tool: { name: 'pay', tags: ['money'] },
        args: { eur: '5€' },
        actor: { externalId: 'u', metadata: { plan: 'pro' } },
        tags: { env: 'x' },
        subjects,
        metrics: { llm_tokens_in: 7, llm_tokens_out: 3, bytes_in: 14, risk: 2 },
        deadlineMs: 1000,
      },
    ]);
    await run.beforeTool('pay', {});
    expect(server.questions[1]?.metrics).toMatchObject({ llm_tokens_in: 0, llm_tokens_out: 0 });
  });

  it('reports tokens again that the server did not receive', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const run = await client.startRun();
    await run.afterLlm({ content: [], model: MODEL, usage: { inputTokens: 7 } });
    server.fail('down');
    await run.beforeTool('t', {});
    server.fail('none');
    await run.beforeTool('t', {});
    expect(server.questions.map(({ metrics }) => metrics?.llm_tokens_in)).toEqual([7]);
  });

  it('is the same run when started twice, and ends once', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const [one, two] = await Promise.all([client.startRun({ runId: 'r' }), client.startRun({ runId: 'r' })]);
    expect(one).toBe(two);
    await Promise.all([one.end('error'), one.end('success'), one.end()]);
    expect(server.eventsOf('run.started')).toHaveLength(1);
    expect(server.eventsOf('run.ended').map(({ data }) => data.status)).toEqual(['error']);
    expect(server.calls.filter(({ path }) => path.endsWith('/end'))).toHaveLength(1);
  });

  it('times out when its TTL expires, and does nothing more', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const run = await client.startRun({ runTtlMs: 60_000 });
    await server.clock.advance(60_000);
    expect(run.status).toBe('timeout');
    expect(run.signal.aborted).toBe(true);
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', source: 'local' });
    expect(server.runs[0]?.status).toBe('timeout');
  });

  it('sends heartbeats and applies the lockdown in the answer', async () => {
    const server = new TestPlatform();
    const client = await server.client({ heartbeatMs: 10_000, control: 'off' });
    const run = await client.startRun();
    await server.clock.advance(10_000);
    expect(server.runs[0]).toMatchObject({ heartbeats: 1, start: { heartbeatEveryMs: 10_000 } });
    server.lockdown = { active: true, kind: 'killed', reason: 'enough', lockdownId: 'o1', modelOverride: 'small' };
    await server.clock.advance(10_000);
    expect(run.signal.aborted).toBe(true);
    expect(run.modelOverride).toBe('small');
    expect(await run.beforeTool('t', {})).toMatchObject({
      verdict: 'BLOCK',
      cause: { kind: 'LOCKDOWN', lockdownId: 'o1' },
      message: 'This run was stopped: enough',
    });
    await run.end();
    await server.clock.advance(100_000);
    expect(server.runs[0]?.heartbeats).toBe(2);
  });

  it('ends when its block is left, as failed if the block threw', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    {
      await using run = await client.startRun({ runId: 'good' });
      await withRun(run, () => expect(getCurrentRun()).toBe(run));
    }
    const failing = async () => {
      await using run = await client.startRun({ runId: 'bad' });
      await withRun(run, () => Promise.reject(new Error('oh')));
    };
    await expect(failing()).rejects.toThrow('oh');
    expect(server.runs.map(({ id, status }) => [id, status])).toEqual([
      ['good', 'success'],
      ['bad', 'error'],
    ]);
  });

  it('is found across awaits, each in its own context', async () => {
    const server = new TestPlatform();
    const client = await server.client();
    const found = await Promise.all(
      ['a', 'b', 'c'].map(async (runId) =>
        withRun(await client.startRun({ runId }), async () => {
          await settle();
          return getCurrentRun()?.id;
        }),
      ),
    );
    expect(found).toEqual(['a', 'b', 'c']);
    expect(getCurrentRun()).toBeUndefined();
  });
});

describe('before a model call', () => {
  it('messages are cleaned for the model and for the record', async () => {
    const server = new TestPlatform();
    const client = await server.client({
      redactMessage: (message) => ({ ...message, content: String(message.content).replaceAll('secret', '***') }),
    });
    const run = await client.startRun();
    const messages = [{ role: 'user', content: 'my secret', id: 7 }];
    expect(await run.beforeLlm(messages)).toEqual([{ role: 'user', content: 'my ***', id: 7 }]);
    expect(await run.beforeLlm(messages)).toEqual([{ role: 'user', content: 'my ***', id: 7 }]);
    await run.end();
    expect(server.eventsOf('message.raw.created').map(({ data }) => data.content)).toEqual(['my ***']);
  });

  it('a message that cannot be cleaned is not sent', async () => {
    const server = new TestPlatform();
    const client = await server.client({
      redactMessage: () => {
        throw new Error('bug');
      },
    });
    const run = await client.startRun();
    expect(await run.beforeLlm([{ role: 'user', content: 'secret' }])).toEqual([
      { role: 'user', content: '[not sent: its redaction failed]' },
    ]);
    await run.end();
    expect(JSON.stringify(server.events)).not.toContain('secret');
  });

  it('no content leaves the process if recording content is off', async () => {
    const server = new TestPlatform();
    const client = await server.client({ recordContent: false });
    const run = await client.startRun();
    await run.beforeLlm([{ role: 'user', content: 'private' }]);
    await run.end();
    expect(server.eventsOf('message.raw.created')[0]?.data).toMatchObject({ role: 'user', content: '' });
  });

  it('a rule stops the agent, and the error names it', async () => {
    const server = new TestPlatform().rule({ phases: ['llm.before'], answer: block('Budget spent', 'r7') });
    const client = await server.client();
    const run = await client.startRun();
    const stopped = run.beforeLlm([{ role: 'user', content: 'x' }], { estimate: { tokens: 100, costUsd: 0.1 } });
    await expect(stopped).rejects.toBeInstanceOf(AgentStopped);
    await expect(stopped).rejects.toMatchObject({ message: 'Budget spent', decision: { finalRuleId: 'r7' } });
    expect(server.questions[0]?.estimate).toEqual({ tokens: 100, costUsd: 0.1 });
  });

  it('a server that does not know the question is not asked again', async () => {
    const server = new TestPlatform();
    const client = await server.client({ failMode: 'closed' });
    const run = await client.startRun();
    server.fail(404, (path) => path.endsWith('/evaluate'));
    await run.beforeLlm([]);
    await run.beforeLlm([]);
    expect(server.calls.filter(({ path }) => path.endsWith('/evaluate'))).toHaveLength(1);
  });
});

describe('concurrent model calls', () => {
  it('are distinguished by id, each with its own reservation', async () => {
    const server = new TestPlatform().answer(({ phase, callId }) =>
      phase === 'llm.before' ? { ...allow(), reservationId: `for ${callId}` } : undefined,
    );
    const run = await (await server.client()).startRun();
    await Promise.all(['a', 'b'].map((callId) => run.beforeLlm([], { callId })));
    await run.afterLlm({ content: [], model: MODEL, callId: 'b' });
    await run.afterLlm({ content: [], model: MODEL });
    await run.end();
    expect(server.eventsOf('llm.result').map(({ data }) => [data.callId, data.reservationId])).toEqual([
      ['b', 'for b'],
      ['a', 'for a'],
    ]);
  });
});

describe('before a tool call', () => {
  it('shadow lets everything run and records what would have been refused', async () => {
    const server = new TestPlatform().rule({ tools: ['rm'], answer: terminate('no', 'r1') });
    const client = await server.client({ enforceMode: 'shadow' });
    const run = await client.startRun();
    expect(await run.beforeTool('rm', { path: '/' })).toMatchObject({
      verdict: 'ALLOW',
      control: 'CONTINUE',
      args: { path: '/' },
      shadowed: { verdict: 'BLOCK', control: 'TERMINATE', finalRuleId: 'r1' },
    });
    await run.end();
    expect(server.eventsOf('tool.decision')[0]?.data).toMatchObject({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      enforced: false,
    });
  });

  it('shadow changes no arguments', async () => {
    const server = new TestPlatform().rule({ answer: modify({ path: '/tmp' }) });
    const run = await (await server.client({ enforceMode: 'shadow' })).startRun();
    expect(await run.beforeTool('rm', { path: '/' })).toMatchObject({ args: { path: '/' } });
  });

  it('off requests no decisions but still records results', async () => {
    const server = new TestPlatform().rule({ answer: block() });
    const run = await (await server.client({ enforceMode: 'off' })).startRun();
    expect(await run.beforeTool('rm', {})).toMatchObject({ verdict: 'ALLOW' });
    await run.afterTool('rm', {}, 1);
    await run.end();
    expect(server.questions).toEqual([]);
    expect(server.events.map(({ kind }) => kind)).toEqual(['run.started', 'tool.result', 'run.ended']);
  });

  it('passes the arguments that rules changed', async () => {
    const server = new TestPlatform().rule({ answer: modify({ path: '/tmp' }) });
    const run = await (await server.client()).startRun();
    expect(await run.beforeTool('rm', { path: '/' })).toMatchObject({ verdict: 'ALLOW', args: { path: '/tmp' } });
  });

  it('keeps the id of a call that waits for a human, and reports its question once', async () => {
    const server = new TestPlatform().rule({ answer: needApproval('r1') });
    const run = await (await server.client()).startRun();
    const first = await run.beforeTool('pay', { eur: 5 });
    const second = await run.beforeTool('pay', { eur: 5 });
    const other = await run.beforeTool('pay', { eur: 6 });
    expect(first).toMatchObject({ verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'HITL_PENDING' } });
    expect([second.callId === first.callId, other.callId === first.callId]).toEqual([true, false]);
    server.approvals.approve('approval-1');
    expect(await run.beforeTool('pay', { eur: 5 })).toMatchObject({ verdict: 'ALLOW', callId: first.callId });
    expect(await run.beforeTool('pay', { eur: 5 })).toMatchObject({ cause: { kind: 'HITL_PENDING' } });
    expect(run.stopped).toBeUndefined();
    await run.end();
    expect(server.eventsOf('tool.decision').map(({ data }) => data.verdict)).toEqual([
      'BLOCK',
      'BLOCK',
      'ALLOW',
      'BLOCK',
    ]);
  });
});

describe('the breaker', () => {
  it('lets the tenth of ten model calls start, but not the eleventh', async () => {
    const server = new TestPlatform();
    const run = await (await server.client({ breaker: { maxIterations: 10 } })).startRun();
    for (let call = 1; call <= 10; call++) {
      await run.beforeLlm([]);
      await run.afterLlm({ content: [], model: MODEL, usage: { inputTokens: 1, outputTokens: 1 } });
    }
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW' });
    await expect(run.beforeLlm([])).rejects.toMatchObject({
      decision: { verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' }, source: 'local' },
    });
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE' });
    await run.end();
    expect(server.eventsOf('breaker.tripped').map(({ data }) => data)).toEqual([
      { reason: 'iterations', scope: 'run' },
    ]);
  });

  it('interrupts the run that it stopped, unless it was reset and the run went on', async () => {
    const server = new TestPlatform();
    const client = await server.client({ breaker: { maxTokens: 10 } });
    for (const { isReset, status } of [
      { isReset: false, status: 'interrupted' },
      { isReset: true, status: 'success' },
    ]) {
      const run = await client.startRun();
      await run.afterLlm({ content: [], model: MODEL, usage: { inputTokens: 11 } });
      await expect(run.beforeLlm([])).rejects.toThrow('circuit breaker');
      if (isReset) run.resetBreaker();
      if (isReset) await run.beforeLlm([]);
      await run.end();
      expect(server.eventsOf('run.ended').at(-1)?.data).toMatchObject({ status });
    }
  });

  it('never reveals a limit', async () => {
    const server = new TestPlatform();
    const run = await (await server.client({ breaker: { maxTokens: 4321 } })).startRun();
    await run.afterLlm({ content: [], model: MODEL, usage: { inputTokens: 5000 } });
    const decision = await run.beforeTool('t', {});
    await run.end();
    expect(decision.verdict).toBe('BLOCK');
    expect(JSON.stringify([decision, server.events])).not.toContain('4321');
  });

  it('is not reset by model calls between failures of a tool', async () => {
    const server = new TestPlatform();
    const run = await (await server.client({ breaker: { maxConsecutiveFailures: 2 } })).startRun();
    for (let call = 1; call <= 3; call++) {
      await run.afterLlm({ content: [], model: MODEL });
      await run.beforeTool('t', {});
      await run.afterTool('t', {}, undefined, 1, new Error('no'));
    }
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK' });
    expect(run.breakerState).toMatchObject({ kind: 'open', reason: 'failures' });
    run.resetBreaker();
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW' });
  });

  it('uses the limits that the platform set for this agent', async () => {
    const server = new TestPlatform();
    server.offerBundle({
      ...{ version: 1, ttlSeconds: 60, askAlways: [], rules: [] },
      breakerLimits: {
        ...{ maxTokens: 1, maxIterations: 10, maxCostUsd: 10, maxConsecutiveFailures: 5 },
        ...{ maxConfidenceDrop: null, confidenceWindow: 5, probeAfterSeconds: null },
      },
    });
    const client = await server.client({ breaker: { maxTokens: 1_000_000 } });
    await eventually(() => expect(client.status.rulesVersion).toBe(1));
    const run = await client.startRun();
    await run.afterLlm({ content: [], model: MODEL, usage: { inputTokens: 2 } });
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK' });
  });
});
