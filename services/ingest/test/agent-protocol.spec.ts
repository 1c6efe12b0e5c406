import { createHmac } from 'node:crypto';
import {
  type AgentEvent,
  BUNDLE_KEY_LABEL,
  COMMANDS,
  type ControlOrder,
  controlOrdered,
  type Decision,
  type Directive,
  type DirectiveAcknowledged,
  decisionDecided,
  derivedId,
  directiveAcknowledged,
  directiveIssued,
  type RuleBundle,
  type RunHeartbeats,
  runHeartbeats,
} from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Protocol, QUESTION, startProtocol } from './agent-protocol.ts';
import { NOW, noted } from './gateway.ts';

const RUN = derivedId(Date.parse('2026-03-01T11:59:00.000Z'), 'run');
const ts = '2026-03-01T11:59:30.000Z';

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

const events = () => protocol.gateway.events();
const distinct = (kind: AgentEvent['kind']) =>
  new Set(events().flatMap((event) => (event.kind === kind ? [`${event.occurredAt}/${event.id}/${event.hash}`] : [])));
const audit = (fields: Record<string, unknown>) => ({ schema: 'handlebar.audit.v1', ts, runId: RUN, ...fields });
const send = (list: readonly unknown[]) => protocol.call('POST', '/v1/runs/events', { agentId: 'bot', events: list });

function anOrder(fields: Partial<ControlOrder> = {}): ControlOrder {
  return {
    id: 'order-1',
    tenantId: 'acme',
    scope: 'run',
    scopeId: RUN,
    state: 'killed',
    reason: 'runaway',
    by: 'ops',
    version: 1,
    issuedAt: NOW,
    ...fields,
  };
}

describe('registering', () => {
  it('answers the slug as the agent id, the same each time, and makes a durable fact of it', async () => {
    const body = { slug: 'support-bot', name: 'Support', tags: ['beta'], tools: [{ name: 'search', tags: ['read'] }] };
    for (const _ of [1, 2]) {
      expect(await protocol.call('POST', '/v1/agents', body)).toMatchObject({
        status: 200,
        body: { agentId: 'support-bot' },
      });
    }
    expect(events()[0]).toMatchObject({
      kind: 'agent.registered',
      agentId: 'support-bot',
      agentName: 'Support',
      payload: body,
    });
  });

  it('takes tools in both forms and brings them to one', async () => {
    const updated = {
      key: 'function:search',
      name: 'search',
      version: 1,
      kind: 'function',
      metadata: { metadata: ['read', 'web'] },
    };
    expect((await protocol.call('PUT', '/v1/agents/bot/tools', { tools: [updated] })).status).toBe(200);
    await protocol.call('PUT', '/v1/agents/bot/tools', { tools: [{ name: 'search', tags: ['read', 'web'] }] });
    const tools = events().map(({ payload }) => payload.tools);
    expect(tools).toMatchObject([
      [{ name: 'search', tags: ['read', 'web'] }],
      [{ name: 'search', tags: ['read', 'web'] }],
    ]);
  });

  it.each([
    ['no slug', {}, 'slug'],
    ['an empty slug', { slug: '' }, 'slug'],
    ['a slug with control characters', { slug: 'a\nb' }, 'slug'],
    ['a tool without a name', { slug: 'a', tools: [{}] }, 'tools.0.name'],
    ['a NUL in the description', { slug: 'a', description: 'x\u0000' }, 'description'],
  ])('refuses %s with its path', async (_, body, path) => {
    const answer = await protocol.call('POST', '/v1/agents', body);
    expect(answer).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
  });
});

describe('starting a run', () => {
  const body = {
    agentId: 'bot',
    sessionId: 'session-1',
    actor: { externalId: 'user-1', name: 'Ann', metadata: { plan: 'pro', seats: 3 }, group: { externalId: 'g1' } },
    model: { name: 'gpt-4o', provider: 'openai' },
    tags: { env: 'prod' },
    runTtlMs: 60_000,
    parentRunId: 'parent',
    parentToolUseId: 'tool-use-1',
  };

  it('answers with a lockdown object and makes one durable event, however often it is called', async () => {
    for (const _ of [1, 2, 3]) {
      const answer = await protocol.call('POST', `/v1/runs/${RUN}/start`, body);
      expect(answer).toMatchObject({ status: 200, body: { runId: RUN, lockdown: { active: false } } });
      protocol.gateway.clock.advance(1_000);
    }
    expect(distinct('run.started').size).toBe(1);
    expect(events()[0]).toMatchObject({
      runId: RUN,
      sessionId: 'session-1',
      parentRunId: 'parent',
      parentToolUseId: 'tool-use-1',
      occurredAt: '2026-03-01T11:59:00.000Z',
      retryable: true,
      model: 'gpt-4o',
      payload: {
        actor: { externalId: 'user-1', metadata: { plan: 'pro', seats: '3' } },
        tags: { env: 'prod' },
        runTtlMs: 60_000,
      },
    });
  });

  it('is dated with its first call where the run id has no time', async () => {
    for (const _ of [1, 2]) {
      await protocol.call('POST', '/v1/runs/my-run/start', { agentId: 'bot' });
      protocol.gateway.clock.advance(60_000);
    }
    expect(distinct('run.started').size).toBe(1);
    expect(events()[0]?.occurredAt).toBe(NOW);
  });

  it('says why where the run, its agent or its tenant is stopped', async () => {
    const { bus } = protocol.gateway;
    const start = async () => (await protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'bot' })).body;
    await bus.publish(controlOrdered, anOrder());
    expect((await start()).lockdown).toEqual({
      active: true,
      reason: 'runaway',
      kind: 'killed',
      lockdownId: 'order-1',
    });
    await bus.publish(controlOrdered, anOrder({ id: 'order-2', state: 'running', version: 2 }));
    expect((await start()).lockdown).toEqual({ active: false });
    const directive: Directive = {
      id: 'd1',
      tenantId: 'acme',
      agentId: 'bot',
      version: 1,
      paused: { at: NOW, reason: 'errors' },
      modelOverride: { model: 'small', at: NOW, reason: 'cost' },
      issuedAt: NOW,
    };
    await bus.publish(directiveIssued, directive);
    expect(await start()).toMatchObject({ lockdown: { active: true, reason: 'errors' }, modelOverride: 'small' });
    await bus.publish(directiveIssued, { ...directive, id: 'd2', version: 2, paused: null, modelOverride: null });
    await bus.publish(controlOrdered, anOrder({ id: 'o2', scope: 'tenant', scopeId: 'acme', state: 'paused' }));
    expect((await start()).lockdown).toMatchObject({ active: true, lockdownId: 'o2' });
  });

  it.each([
    ['no agent', {}],
    ['an empty agent', { agentId: '' }],
    ['an agent that is none', { agentId: 7 }],
  ])('refuses %s at once', async (_, body) => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/start`, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path: 'agentId' })]) },
    });
    expect(events()).toEqual([]);
  });

  it('accepts an agent nobody registered: its first run makes it known', async () => {
    expect((await protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'never-seen' })).status).toBe(200);
  });
});

describe('ending a run', () => {
  it.each([
    ['success', 'succeeded'],
    ['error', 'failed'],
    ['timeout', 'timed_out'],
    ['interrupted', 'interrupted'],
  ])('with %s makes it %s, once', async (status, outcome) => {
    for (const _ of [1, 2]) {
      const answer = await protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status });
      expect(answer).toMatchObject({ status: 200, body: { runId: RUN, status } });
      protocol.gateway.clock.advance(1_000);
    }
    expect(distinct('run.ended').size).toBe(1);
    expect(events()[0]).toMatchObject({ kind: 'run.ended', outcome, runId: RUN });
  });

  it('and the audit event that says the same are one event, whichever comes first', async () => {
    const call = () => protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'success' });
    await call();
    protocol.gateway.clock.advance(900);
    await send([audit({ kind: 'run.ended', data: { status: 'success', totalSteps: 2 } })]);
    await send([audit({ runId: 'other', kind: 'run.ended', data: { status: 'success', totalSteps: 2 } })]);
    await protocol.call('POST', '/v1/runs/other/end', { agentId: 'bot', status: 'success' });
    expect(distinct('run.ended').size).toBe(2);
  });

  it('refuses a status nobody knows', async () => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'great' });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: 'status' }] } });
  });
});

describe('asking for a decision', () => {
  it('answers what the evaluator decided, on the wire of the client in the field and nothing more', async () => {
    protocol.answer(() => ({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      effect: 'ask',
      cause: { kind: 'HITL_PENDING', approvalId: 'a1', ruleId: 'r1' },
      message: 'Needs a human',
      finalRuleId: 'r1',
      approvalId: 'a1',
      modifiedArgs: { q: 'y' },
      evaluatedRules: [
        { ruleId: 'r1', ruleVersion: 3, enabled: true, matched: true, violated: true, effect: 'ask', mode: 'enforce' },
      ],
    }));
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      cause: { kind: 'HITL_PENDING', approvalId: 'a1', ruleId: 'r1' },
      message: 'Needs a human',
      evaluatedRules: [{ ruleId: 'r1', enabled: true, matched: true, violated: true }],
      finalRuleId: 'r1',
    });
  });

  it('tells clients that send our additions the rest, and nothing of the inside', async () => {
    protocol.answer(() => ({ effect: 'modify', modifiedArgs: { q: '[email]' } }));
    const { body } = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: 'call-1' });
    expect(body).toMatchObject({ effect: 'modify', modifiedArgs: { q: '[email]' }, decisionId: 'decision-1' });
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['tenantId']));
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['inputsDigest']));
  });

  it('hands the evaluator everything it was asked', async () => {
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, {
      phase: 'tool.after',
      agentId: 'bot',
      tool: { name: 'mail', tags: ['write', 7] },
      args: { to: 'x' },
      result: { ok: true },
      actor: { externalId: 'user-1' },
      tags: { env: 'prod', retries: 2 },
      subjects: [{ subjectType: 'customer', value: 'v'.repeat(300) }, 'nonsense'],
      metrics: { bytes_in: 12, custom: null },
      callId: 'call-1',
      estimate: { tokens: 10, costUsd: 0.1 },
      deadlineMs: 60_000,
    });
    expect(protocol.asked).toEqual([
      {
        tenantId: 'acme',
        runId: RUN,
        phase: 'tool.after',
        agentId: 'bot',
        tool: { name: 'mail', tags: ['write'] },
        args: { to: 'x' },
        result: { ok: true },
        actor: { externalId: 'user-1' },
        tags: { env: 'prod', retries: '2' },
        subjects: [{ subjectType: 'customer', value: 'v'.repeat(256) }],
        metrics: { bytes_in: 12 },
        callId: 'call-1',
        estimate: { tokens: 10, costUsd: 0.1 },
        receivedAt: NOW,
        deadlineMs: 10_000,
      },
    ]);
  });

  it('adds what the run’s start said: session, tags, and the tags of the same actor', async () => {
    const start = {
      agentId: 'bot',
      sessionId: 's1',
      actor: { externalId: 'u', metadata: { plan: 'pro' } },
      tags: { a: '1', b: '1' },
    };
    await protocol.call('POST', `/v1/runs/${RUN}/start`, start);
    const ask = async (fields: object) => {
      await protocol.call(
        'POST',
        `/v1/runs/${RUN}/evaluate`,
        { ...QUESTION, ...fields },
        { headers: { 'idempotency-key': 'q1' } },
      );
      return protocol.asked.at(-1);
    };
    expect(await ask({ actor: { externalId: 'u' }, tags: { b: '2' } })).toMatchObject({
      requestId: 'q1',
      sessionId: 's1',
      actor: { externalId: 'u', metadata: { plan: 'pro' } },
      tags: { a: '1', b: '2' },
    });
    expect(await ask({ actor: { externalId: 'someone-else' } })).toMatchObject({
      actor: { externalId: 'someone-else' },
    });
    expect(protocol.asked.at(-1)?.actor?.metadata).toBeUndefined();
    expect(await ask({ sessionId: 's2' })).toMatchObject({ sessionId: 's2', actor: { externalId: 'u' } });
  });

  it('knows a run that was started at another instance', async () => {
    await protocol.gateway.platform.runContexts.keep('acme', 'elsewhere', { sessionId: 's9' });
    await protocol.call('POST', '/v1/runs/elsewhere/evaluate', QUESTION);
    expect(protocol.asked[0]).toMatchObject({ sessionId: 's9' });
  });

  it('answers for a run never started, one that ended, and a client that never got its agent id', async () => {
    await protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'success' });
    for (const [runId, agentId] of [
      [RUN, 'bot'],
      ['never-started', 'bot'],
      ['never-started', ''],
    ]) {
      const answer = await protocol.call('POST', `/v1/runs/${runId}/evaluate`, { ...QUESTION, agentId });
      expect(answer).toMatchObject({ status: 200, body: { verdict: 'ALLOW', control: 'CONTINUE' } });
    }
    expect(protocol.asked.at(-1)?.agentId).toBe('unknown');
  });

  it('answers for a model call, which has no tool', async () => {
    const question = { phase: 'llm.before', agentId: 'bot', estimate: { tokens: 100 } };
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, question)).status).toBe(200);
    expect(protocol.asked[0]).toMatchObject({ phase: 'llm.before', estimate: { tokens: 100, costUsd: 0 } });
    expect(protocol.asked[0]?.tool).toBeUndefined();
  });

  it.each([
    ['no phase', { ...QUESTION, phase: undefined }, 'phase'],
    ['a phase nobody knows', { ...QUESTION, phase: 'tool.during' }, 'phase'],
    ['no tool', { ...QUESTION, tool: undefined }, 'tool'],
    ['a tool without a name', { ...QUESTION, tool: { name: '' } }, 'tool.name'],
  ])('refuses what is no question: %s', async (_, body, path) => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
  });

  it.each([
    ['nested 100,000 levels', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'unreadable'],
    ['with a NUL', '{"q":"x\\u0000y"}', 'unreadable'],
    ['with __proto__', '{"__proto__":{"admin":true}}', 'unreadable'],
    ['with an infinite number', '{"n":1e400}', 'unreadable'],
    ['that are only an infinite number', '1e400', 'unreadable'],
    ['of a megabyte', JSON.stringify({ list: Array.from({ length: 6 }, () => 'x'.repeat(200_000)) }), 'too_large'],
  ])('goes on with arguments %s, which rules find missing', async (_, args, reason) => {
    const text = JSON.stringify({ ...QUESTION, args: 'ARGS' }).replace('"ARGS"', () => args);
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, text)).status).toBe(200);
    expect(protocol.asked[0]?.args).toEqual({ $omitted: { reason, sha256: expect.any(String) } });
    expect(protocol.asked[0]?.tool?.name).toBe('search');
  });

  it.each([
    ['what looks like a circle', { a: { $ref: '#' }, b: '[Circular]' }],
    ['markup, quotes and escapes', { q: '</script>"\'; drop table runs; -- {{y}} \\u0000 %s' }],
    ['a list', [1, 'two', null]],
    ['a text', 'plain'],
    ['nothing', null],
  ])('hands over arguments with %s unchanged', async (_, args) => {
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, args })).status).toBe(200);
    expect(protocol.asked[0]?.args).toEqual(args);
  });

  it('mends a tool name that cannot be stored', async () => {
    const tool = { name: `a\u0000b${'x'.repeat(300)}` };
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, tool })).status).toBe(200);
    expect(protocol.asked[0]?.tool?.name).toBe(`ab${'x'.repeat(254)}`);
  });

  it('keeps a question with a load of tags below what the broker takes', async () => {
    const tags = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, 'v'.repeat(2_000)]));
    const args = { text: 'y'.repeat(200_000) };
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, tags, args })).status).toBe(200);
    expect(JSON.stringify(protocol.asked[0]).length).toBeLessThan(900_000);
    expect(protocol.asked[0]?.args).toEqual(args);
  });
});

describe('a question with an Idempotency-Key', () => {
  const ask = (fields: object = {}, key = 'q1') =>
    protocol.call(
      'POST',
      `/v1/runs/${RUN}/evaluate`,
      { ...QUESTION, ...fields },
      { headers: { 'idempotency-key': key } },
    );

  it('is asked once and answered the same, also while the first is being answered', async () => {
    const held = Promise.withResolvers<Partial<Decision>>();
    protocol.answer(() => held.promise);
    const both = [ask(), ask()];
    await eventually(() => expect(protocol.asked).toHaveLength(1));
    held.resolve({ verdict: 'BLOCK', message: 'first' });
    for (const { body } of await Promise.all(both)) expect(body).toMatchObject({ verdict: 'BLOCK', message: 'first' });
    protocol.answer(() => ({ message: 'second' }));
    expect((await ask()).body.message).toBe('first');
    expect(protocol.asked).toHaveLength(1);
  });

  it('is another question with another key, call or run', async () => {
    await ask();
    await ask({}, 'q2');
    await ask({ args: { q: 'y' } });
    await ask({ phase: 'tool.after', result: 1 });
    expect(protocol.asked).toHaveLength(4);
  });

  it.each<[string, Partial<Decision>]>([
    ['a human is waited for', { cause: { kind: 'HITL_PENDING', approvalId: 'a' } }],
    ['a rule could not be asked', { bypasses: [{ ruleId: 'r', why: 'unavailable', did: 'allow' }] }],
  ])('is asked again where %s', async (_, first) => {
    protocol.answer(() => first);
    await ask();
    await ask();
    expect(protocol.asked).toHaveLength(2);
  });

  it('is not answered from memory once the run was stopped', async () => {
    await ask();
    await protocol.gateway.bus.publish(controlOrdered, anOrder());
    await ask();
    expect(protocol.asked).toHaveLength(2);
  });
});

describe('a key that asks more often than it may', () => {
  it('is blocked without the evaluator being asked, and counts apart from its events', async () => {
    const { gateway } = protocol;
    const question = () => protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION, { key: gateway.keys.slow });
    for (let i = 0; i < 10; i++) expect((await question()).body.verdict).toBe('ALLOW');
    const refused = await question();
    expect(refused).toMatchObject({
      status: 200,
      body: { verdict: 'BLOCK', control: 'CONTINUE', message: expect.stringContaining('more decisions per second') },
    });
    expect(protocol.asked).toHaveLength(10);
    expect((await gateway.post({ events: [noted(1)] }, { key: gateway.keys.slow })).status).toBe(201);
    gateway.clock.advance(100);
    expect((await question()).body.verdict).toBe('ALLOW');
  });
});

describe('when the evaluator does not answer', () => {
  const decisions: Decision[] = [];
  beforeEach(async () => {
    decisions.length = 0;
    await protocol.gateway.bus.watch(decisionDecided, { from: 'new' }, ({ value }) => decisions.push(value));
  });

  it('allows by the fail mode with a complete decision, and records the bypass', async () => {
    await protocol.leave();
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: 'call-1' });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        verdict: 'ALLOW',
        control: 'CONTINUE',
        cause: { kind: 'ALLOW' },
        message: expect.any(String),
        evaluatedRules: [],
        bypasses: [{ ruleId: '*', why: 'unavailable', did: 'allow' }],
      },
    });
    await eventually(() => {
      expect(events()).toMatchObject([{ sourceType: 'decision.bypassed', runId: RUN, toolName: 'search' }]);
      expect(decisions).toMatchObject([{ runId: RUN, verdict: 'ALLOW', bypasses: [{ did: 'allow' }] }]);
    });
  });

  it('blocks where the tenant wants it so, and records that bypass too', async () => {
    await protocol.leave();
    const key = protocol.gateway.keys.cautious;
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: 'call-1' }, { key });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        ...{ verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'LOCKDOWN' }, evaluatedRules: [] },
        bypasses: [{ ruleId: '*', why: 'unavailable', did: 'block' }],
      },
    });
    await eventually(() => {
      expect(events()).toMatchObject([{ sourceType: 'decision.bypassed', payload: { verdict: 'BLOCK' } }]);
      expect(decisions).toMatchObject([{ tenantId: 'cautious', verdict: 'BLOCK', bypasses: [{ did: 'block' }] }]);
    });
  });

  it('answers within the deadline of the question when it hangs', async () => {
    const held = Promise.withResolvers<Partial<Decision>>();
    protocol.answer(() => held.promise);
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, deadlineMs: 20 });
    expect(answer).toMatchObject({ status: 200, body: { verdict: 'ALLOW' } });
    held.resolve({});
  });

  it('still blocks what an operator stopped', async () => {
    await protocol.gateway.bus.publish(controlOrdered, anOrder());
    await protocol.leave();
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION);
    expect(answer.body).toMatchObject({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      cause: { kind: 'LOCKDOWN', lockdownId: 'order-1' },
    });
    const other = await protocol.call('POST', '/v1/runs/other/evaluate', QUESTION);
    expect(other.body.verdict).toBe('ALLOW');
  });

  it('takes nonsense for no answer', async () => {
    protocol.answer(() => ({ verdict: 'MAYBE' as 'ALLOW' }));
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION);
    expect(answer).toMatchObject({ status: 200, body: { verdict: 'ALLOW', evaluatedRules: [] } });
  });
});

describe('audit events', () => {
  it('are priced, counted once, and taken before, during and after the end', async () => {
    const list = [
      audit({ kind: 'run.started', data: { agent: { id: 'bot' }, adapter: { name: 'core' } } }),
      audit({ kind: 'llm.result', stepIndex: 0, data: { model: { name: 'gpt-4o' }, tokens: { in: 1000, out: 500 } } }),
      audit({ kind: 'tool.result', stepIndex: 0, data: { tool: { name: 'search' }, outcome: 'error', durationMs: 5 } }),
    ];
    await send(list);
    await protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'success' });
    expect(await send(list)).toMatchObject({ status: 200, body: { accepted: 3, rejected: 0 } });
    const [, llm, tool] = events();
    expect(llm).toMatchObject({
      kind: 'llm.completed',
      provider: 'openai',
      usage: { costSource: 'priced', totalTokens: 1500 },
    });
    expect(llm?.usage?.costUsd).toBeGreaterThan(0);
    expect(tool).toMatchObject({ kind: 'tool.completed', toolName: 'search', isError: true, usage: { latencyMs: 5 } });
    for (const kind of ['run.started', 'llm.completed', 'tool.completed'] as const) expect(distinct(kind).size).toBe(1);
  });

  it('keep what this server does not know, and say so', async () => {
    const answer = await send([
      audit({ kind: 'agent.dreamt', data: { of: 'sheep' } }),
      audit({ schema: 'handlebar.audit.v9', kind: 'error', data: { scope: 'agent', message: 'x' } }),
      audit({ kind: 'error', data: { scope: 'agent', message: 'y' } }),
    ]);
    expect(answer).toMatchObject({ status: 200, body: { accepted: 3, rejected: 0 } });
    expect(answer.body.results).toMatchObject([
      { index: 0, status: 202, error: { details: [{ path: 'events.0.kind' }] } },
      { index: 1, status: 202, error: { details: [{ path: 'events.1.schema' }] } },
    ]);
    expect(events().map(({ kind, sourceType }) => `${kind}/${sourceType}`)).toEqual([
      'custom.recorded/agent.dreamt',
      'error.raised/error',
      'error.raised/error',
    ]);
  });

  it('refuse a bad one alone, with its place', async () => {
    const answer = await send([
      audit({ kind: 'error' }),
      audit({ runId: '', kind: 'error' }),
      'x',
      audit({ ts: 'noon', kind: 'error' }),
    ]);
    expect(answer).toMatchObject({ status: 207, body: { accepted: 1, rejected: 3 } });
    expect(
      answer.body.results.map((one: { error: { details: { path: string }[] } }) => one.error.details[0]?.path),
    ).toEqual(['events.1.runId', 'events.2', 'events.3.ts']);
  });

  it('of a clock that is wrong are dated with their first arrival, and the same on a retry', async () => {
    const list = [
      audit({ ts: '2031-01-01T00:00:00Z', kind: 'error', data: { message: 'x' } }),
      audit({ ts: 5, kind: 'error' }),
    ];
    expect((await send(list)).body).toEqual({ accepted: 2, rejected: 0 });
    protocol.gateway.clock.advance(5_000);
    await send(list);
    expect(distinct('error.raised').size).toBe(2);
    expect(events()[0]).toMatchObject({ occurredAt: NOW, metadata: { clientTime: '2031-01-01T00:00:00.000Z' } });
  });

  it('carry ids, parents and tags of clients that know our additions', async () => {
    await send([
      audit({ id: 'mine-1', kind: 'tool.result', parentRunId: 'p', parentToolUseId: 't', tags: ['a', 'a'] }),
    ]);
    expect(events()[0]).toMatchObject({ id: 'mine-1', parentRunId: 'p', parentToolUseId: 't', tags: ['a'] });
  });

  it('count against the quota of their key', async () => {
    const { slow } = protocol.gateway.keys;
    const batch = {
      agentId: 'bot',
      events: Array.from({ length: 8 }, (_, stepIndex) => audit({ kind: 'error', stepIndex })),
    };
    expect((await protocol.call('POST', '/v1/runs/events', batch, { key: slow })).status).toBe(200);
    const answer = await protocol.call('POST', '/v1/runs/events', batch, { key: slow });
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': expect.any(String) } });
  });

  it('never forge a registration', async () => {
    await send([audit({ kind: 'agent.registered', data: { slug: 'other' } })]);
    expect(events()[0]?.kind).toBe('custom.recorded');
  });

  it.each([
    ['no agent', { events: [audit({ kind: 'error' })] }, 'agentId'],
    ['no events', { agentId: 'bot' }, 'events'],
    ['an empty batch', { agentId: 'bot', events: [] }, 'events'],
    ['a null body', null, 'agentId'],
  ])('with %s are no batch', async (_, body, path) => {
    const answer = await protocol.call('POST', '/v1/runs/events', body);
    expect(answer).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
  });
});

describe('heartbeats', () => {
  it('reach run-tracking collected, are no events, and answer what stands against the run', async () => {
    const beats: RunHeartbeats[] = [];
    const { bus } = protocol.gateway;
    await bus.watch(runHeartbeats, { from: 'new' }, ({ value }) => beats.push(value));
    await bus.publish(controlOrdered, anOrder());
    const body = { agentId: 'bot', instanceId: 'i1', everyMs: 5_000 };
    for (const runId of [RUN, RUN, 'other']) {
      const answer = await protocol.call('POST', `/v1/runs/${runId}/heartbeat`, body);
      expect(answer).toMatchObject({ status: 200, body: { lockdown: { active: runId === RUN } } });
    }
    await eventually(() => expect(beats).toHaveLength(1));
    expect(beats[0]).toEqual({
      tenantId: 'acme',
      beats: [
        { runId: RUN, agentId: 'bot', at: NOW, everyMs: 5_000 },
        { runId: 'other', agentId: 'bot', at: NOW, everyMs: 5_000 },
      ],
    });
    expect(events()).toEqual([]);
    expect(await protocol.gateway.platform.presence.list('acme', 'bot')).toEqual([
      { agentId: 'bot', instanceId: 'i1' },
    ]);
  });
});

describe('acknowledging', () => {
  it('is a durable fact of the instance that took the order', async () => {
    const acks: DirectiveAcknowledged[] = [];
    await protocol.gateway.bus.watch(directiveAcknowledged, { from: 'new' }, ({ value }) => acks.push(value));
    const body = { agentId: 'bot', instanceId: 'i1' };
    for (const _ of [1, 2]) expect((await protocol.call('POST', '/v1/control/d1/ack', body)).status).toBe(200);
    expect(acks).toEqual([{ tenantId: 'acme', directiveId: 'd1', ...body, acknowledgedAt: NOW }]);
  });

  it('needs to know who', async () => {
    expect(await protocol.call('POST', '/v1/control/d1/ack', { agentId: 'bot' })).toMatchObject({ status: 400 });
  });
});

describe('keys', () => {
  const calls = [
    ['POST', '/v1/agents'],
    ['PUT', '/v1/agents/bot/tools'],
    ['POST', `/v1/runs/${RUN}/start`],
    ['POST', `/v1/runs/${RUN}/evaluate`],
    ['POST', `/v1/runs/${RUN}/end`],
    ['POST', `/v1/runs/${RUN}/heartbeat`],
    ['POST', '/v1/runs/events'],
    ['GET', '/v1/control/stream?agentId=bot'],
    ['GET', '/v1/control/poll?agentId=bot'],
    ['POST', '/v1/control/d1/ack'],
    ['GET', '/v1/rules/bundle?agentId=bot'],
  ] as const;

  it.each(calls)('%s %s asks for one, of the right scope, that is not revoked', async (method, path) => {
    const { gateway } = protocol;
    const call: Protocol['call'] = (...args) => protocol.call(...args);
    expect((await gateway.inject({ method, url: path })).status).toBe(401);
    expect((await call(method, path, method === 'GET' ? undefined : {}, { key: gateway.keys.revoked })).status).toBe(
      401,
    );
    expect((await call(method, path, method === 'GET' ? undefined : {}, { key: gateway.keys.reader })).status).toBe(
      403,
    );
  });

  it('keep tenants apart: a stop in one is nothing to the other', async () => {
    await protocol.gateway.bus.publish(controlOrdered, anOrder());
    const { foreign } = protocol.gateway.keys;
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'bot' }, { key: foreign });
    expect(answer.body.lockdown).toEqual({ active: false });
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION, { key: foreign });
    expect(protocol.asked[0]?.tenantId).toBe('globex');
  });
});

describe('importing a policy', () => {
  const policy = { policy: { name: 'p', mode: 'enforce' }, rules: [] };
  const send = (path: string, body: unknown = policy, key = protocol.gateway.keys.admin) =>
    protocol.call('POST', path, body, { key });

  it('hands it to the owner of the rules, with or without a slash at the end', async () => {
    const asked: unknown[] = [];
    await protocol.gateway.bus.serve(COMMANDS.importPolicy, async (question) => {
      asked.push(question);
      return { ok: true as const, value: { policyId: 'p1', rules: [] } };
    });
    for (const path of ['/v1/rules', '/v1/rules/']) {
      expect(await send(path)).toMatchObject({ status: 201, body: { policyId: 'p1', rules: [] } });
    }
    expect(asked).toEqual([
      { tenantId: 'acme', body: policy },
      { tenantId: 'acme', body: policy },
    ]);
  });

  it('answers what the owner refuses', async () => {
    const problem = { error: 'Validation failed', status: 400, details: [{ path: 'policy.name', message: 'missing' }] };
    await protocol.gateway.bus.serve(COMMANDS.importPolicy, async () => ({ ok: false as const, problem }));
    expect(await send('/v1/rules', {})).toMatchObject({ status: 400, body: problem });
  });

  it('is for admins, and 503 while the owner is away', async () => {
    expect((await send('/v1/rules', policy, protocol.gateway.keys.agent)).status).toBe(403);
    expect((await send('/v1/rules')).status).toBe(503);
  });
});

describe('the rule bundle', () => {
  it('is signed with a key that only the asking API key makes', async () => {
    const bundle: RuleBundle = { agentId: 'bot', version: 3, ttlSeconds: 60, askAlways: ['tool.before'], rules: [] };
    await protocol.gateway.bus.serve(COMMANDS.ruleBundle, async ({ agentId }) =>
      agentId === 'bot'
        ? { ok: true as const, value: bundle }
        : { ok: false as const, problem: { error: 'Agent not found', status: 404 } },
    );
    const { body } = await protocol.call('GET', '/v1/rules/bundle?agentId=bot');
    expect(JSON.parse(body.payload)).toEqual(bundle);
    const secret = createHmac('sha256', protocol.gateway.keys.agent).update(BUNDLE_KEY_LABEL).digest();
    expect(body.signature).toBe(createHmac('sha256', secret).update(body.payload).digest('hex'));
    expect((await protocol.call('GET', '/v1/rules/bundle?agentId=other')).status).toBe(404);
    expect((await protocol.call('GET', '/v1/rules/bundle')).status).toBe(400);
  });

  it('is not sent again to whom holds what it says, whenever it was made', async () => {
    let bundle: RuleBundle = { agentId: 'bot', version: 3, ttlSeconds: 60, askAlways: [], rules: [] };
    await protocol.gateway.bus.serve(COMMANDS.ruleBundle, async () => ({ ok: true as const, value: bundle }));
    const ask = (held: string) =>
      protocol.call('GET', '/v1/rules/bundle?agentId=bot', undefined, { headers: { 'if-none-match': held } });
    const { headers } = await protocol.call('GET', '/v1/rules/bundle?agentId=bot');
    const tag = String(headers.etag);
    bundle = { ...bundle, version: 4 };
    for (const held of [tag, `"other", ${tag.slice(2)}`, '*']) {
      const { status, body, headers: told } = await ask(held);
      expect([status, body, told.etag]).toEqual([304, undefined, tag]);
    }
    expect((await ask('"other"')).status).toBe(200);
    bundle = { ...bundle, askAlways: ['llm.before'] };
    const changed = await ask(tag);
    expect(changed.status).toBe(200);
    expect(JSON.parse(changed.body.payload)).toEqual(bundle);
    expect(changed.headers.etag).not.toBe(tag);
  });

  it('is a problem where there is none, so that the client asks the server', async () => {
    const answer = await protocol.call('GET', '/v1/rules/bundle?agentId=bot');
    expect(answer).toMatchObject({ status: 404, body: { error: 'No rule bundle', status: 404 } });
  });
});
