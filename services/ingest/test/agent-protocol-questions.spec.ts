import { breakerChanged, breakersDue, controlOrdered, type Decision, rulesChanged } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { anOrder, type Protocol, QUESTION, RUN, startProtocol } from './agent-protocol.ts';
import { NOW, noted } from './gateway.ts';

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

describe('asking for a decision', () => {
  it('returns the decision of the evaluator with exactly the fields that older clients know', async () => {
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

  it('returns the other fields to clients with our extensions, and no internals', async () => {
    protocol.answer(() => ({ effect: 'modify', modifiedArgs: { q: '[email]' } }));
    const { body } = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: 'call-1' });
    expect(body).toMatchObject({ effect: 'modify', modifiedArgs: { q: '[email]' }, decisionId: 'decision-1' });
    const known = ['verdict', 'control', 'cause', 'message', 'evaluatedRules'];
    const extras = ['decisionId', 'effect', 'modifiedArgs', 'bypasses'];
    expect(Object.keys(body).sort()).toEqual([...known, ...extras].sort());
  });

  it('passes every field of the question to the evaluator', async () => {
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
        because: { asked: 'stale' },
        tags: { env: 'prod', retries: '2' },
        subjects: [{ subjectType: 'customer', value: 'v'.repeat(256) }],
        metrics: { bytes_in: 12 },
        callId: 'call-1',
        askedBy: 'agent',
        estimate: { tokens: 10, costUsd: 0.1 },
        receivedAt: NOW,
        deadlineMs: 10_000,
      },
    ]);
  });

  it('adds the context of the run’s start: session, tags, and the tags of the same actor', async () => {
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

  it.each([
    ['9007199254740993', '9007199254740992'],
    ['1e400', '1e500'],
    ['"\\u0000"', '"\\uFFFD"'],
    ['"\\ud800"', '"\\ud801"'],
  ])('distinguishes %s and %s in arguments, although both parse to the same value', async (one, other) => {
    for (const value of [one, one, other]) {
      const body = `{"phase":"tool.before","agentId":"bot","tool":{"name":"pay"},"args":{"a":${value}}}`;
      expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, body)).status).toBe(200);
    }
    const [first, again, next] = protocol.asked;
    expect(first?.args).toEqual(next?.args);
    expect(first?.exactArgs).toBe(again?.exactArgs);
    expect(first?.exactArgs).not.toBe(next?.exactArgs);
  });

  it('knows a run that was started on another instance', async () => {
    await protocol.gateway.platform.runContexts.keep('acme', 'elsewhere', { sessionId: 's9' });
    await protocol.call('POST', '/v1/runs/elsewhere/evaluate', QUESTION);
    expect(protocol.asked[0]).toMatchObject({ sessionId: 's9' });
  });

  it('answers for an unknown run, an ended run, and a client without an agent id', async () => {
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
    ['an unknown phase', { ...QUESTION, phase: 'tool.during' }, 'phase'],
    ['no tool', { ...QUESTION, tool: undefined }, 'tool'],
    ['a tool without a name', { ...QUESTION, tool: { name: '' } }, 'tool.name'],
  ])('rejects an invalid question: %s', async (_, body, path) => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
  });

  const asked = async (args: string) => {
    const text = JSON.stringify({ ...QUESTION, args: 'ARGS' }).replace('"ARGS"', () => args);
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, text)).status).toBe(200);
    expect(protocol.asked.at(-1)?.tool?.name).toBe('search');
    return protocol.asked.at(-1);
  };
  const long = 'x'.repeat(200_000);

  it.each([
    ['nested 50,000 levels', `${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'unreadable', undefined],
    ['of 150,000 values', `[${Array(150_000).fill(1).join()}]`, 'too_large', null],
    ['with __proto__', '{"q":"rm","__proto__":{"admin":true}}', 'unreadable', { q: 'rm' }],
    ['with an infinite number', '{"n":1e400,"q":"rm"}', 'unreadable', { n: null, q: 'rm' }],
    ['that are only an infinite number', '1e400', 'unreadable', null],
    ['of a megabyte', JSON.stringify([long, long, 'rm', long]), 'too_large', [long, null, 'rm', null]],
    ['of a text over 256 KB', JSON.stringify({ t: 'x'.repeat(260_000), q: 'rm' }), 'too_large', { t: null, q: 'rm' }],
  ])('passes on the readable part of arguments %s, marked as incomplete', async (_, args, reason, readable) => {
    const request = await asked(args);
    expect(request?.unread).toEqual({ args: { reason, sha256: expect.any(String) } });
    if (readable !== undefined) expect(request?.args).toEqual(readable);
  });

  it('distinguishes contents that are passed on as the same value', async () => {
    const hashes = [];
    for (const args of ['{"n":1e400}', '{"n":-1e400}', '{"n":1e400,"__proto__":1}'])
      hashes.push((await asked(args))?.unread?.args?.sha256);
    expect(new Set(hashes).size).toBe(3);
  });

  it.each([
    ['with a NUL', '{"q":"x\\u0000y"}', { q: 'x\uFFFDy' }],
    ['with a NUL in a name that exists already', '{"q\\uFFFD":1,"q\\u0000":1}', undefined],
    ['of an object of 300 keys', `{${Array.from({ length: 300 }, (__, n) => `"k${n}":1`).join()}}`, undefined],
  ])('repairs arguments %s', async (_, args, readable) => {
    const request = await asked(args);
    if (readable !== undefined) expect(request).toMatchObject({ args: readable });
    expect(request?.unread?.args?.reason).toBe(args.includes('uFFFD') ? 'unreadable' : undefined);
  });

  it('trusts a client that says it did not send everything', async () => {
    const unread = ['args', 'result'];
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: 'c', args: {}, unread });
    const answer = { reason: 'too_large', sha256: expect.any(String) };
    expect(protocol.asked[0]?.unread).toEqual({ args: answer, result: answer });
  });

  it.each([
    ['text that looks like a circular reference', { a: { $ref: '#' }, b: '[Circular]' }],
    ['markup, quotes and escapes', { q: '</script>"\'; drop table runs; -- {{y}} \\u0000 %s' }],
    ['a list', [1, 'two', null]],
    ['a text', 'plain'],
    ['nothing', null],
  ])('passes on arguments with %s unchanged', async (_, args) => {
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, args })).status).toBe(200);
    expect(protocol.asked[0]?.args).toEqual(args);
  });

  it.each<[string, object, object]>([
    ['a call id that is too long', { callId: 'c'.repeat(300) }, { callId: expect.stringMatching(/^c+#[0-9a-f]{64}$/) }],
    ['a call id with a line break', { callId: 'a\nb' }, { callId: expect.stringMatching(/^ab#[0-9a-f]{64}$/) }],
    ['a call id that is a number', { callId: 7 }, { callId: '7' }],
    ['a call id that is an object', { callId: { id: 7 } }, { callId: undefined }],
    ['an empty call id', { callId: '' }, { callId: undefined }],
    ['an empty session id', { sessionId: '' }, { sessionId: undefined }],
    ['a long session id', { sessionId: 's'.repeat(300) }, { sessionId: expect.stringMatching(/^s+#[0-9a-f]{64}$/) }],
    [
      'an agent id that is too long',
      { agentId: 'a'.repeat(300) },
      { agentId: expect.stringMatching(/^a+#[0-9a-f]{64}$/) },
    ],
    ['an agent id that is a list', { agentId: ['bot'] }, { agentId: 'unknown' }],
    ['a negative estimate', { estimate: { tokens: 5, costUsd: -1 } }, { estimate: undefined }],
    ['an estimate that is not an object', { estimate: 'much' }, { estimate: undefined }],
    [
      'tokens that are not a number',
      { estimate: { tokens: '5', costUsd: 1 } },
      { estimate: { tokens: 0, costUsd: 1 } },
    ],
    ['a deadline of zero', { deadlineMs: 0 }, { deadlineMs: 1_000 }],
    ['a deadline that is a text', { deadlineMs: 'soon' }, { deadlineMs: 1_000 }],
  ])('answers a question with %s', async (_, fields, expected) => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, ...fields });
    expect(answer).toMatchObject({ status: 200, body: { verdict: 'ALLOW' } });
    const asked: Record<string, unknown> = { ...protocol.asked[0] };
    for (const [member, value] of Object.entries(expected)) expect(asked[member]).toEqual(value);
  });

  it('reserves more than any budget has for an infinite estimate', async () => {
    const text = JSON.stringify({ ...QUESTION, estimate: { costUsd: 'MUCH' } }).replace('"MUCH"', '1e400');
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, text)).status).toBe(200);
    expect(protocol.asked[0]?.estimate).toEqual({ tokens: 0, costUsd: 1e9 });
  });

  it('distinguishes two long call ids with the same start', async () => {
    for (const end of ['x', 'y']) {
      await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, callId: `${'c'.repeat(300)}${end}` });
    }
    expect(new Set(protocol.asked.map(({ callId }) => callId)).size).toBe(2);
  });

  it.each([
    ['too long', 'r'.repeat(300)],
    ['far too long', 'r'.repeat(5_000)],
    ['with a line break', 'a%0Ab'],
  ])('answers for a run whose id is %s, and applies orders for it', async (_, id) => {
    const answer = await protocol.call('POST', `/v1/runs/${id}/evaluate`, QUESTION);
    expect(answer).toMatchObject({ status: 200, body: { verdict: 'ALLOW' } });
    const { runId } = (await protocol.call('POST', `/v1/runs/${id}/start`, { agentId: 'bot' })).body;
    expect(protocol.asked[0]?.runId).toBe(runId);
  });

  it.each(['x'.repeat(300), 'schlüssel'])('answers with any Idempotency-Key: %s', async (key) => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, QUESTION, {
      headers: { 'idempotency-key': key },
    });
    expect(answer.status).toBe(200);
    expect(protocol.asked[0]?.requestId).toMatch(/#[0-9a-f]{64}$|^key schlüssel$/);
  });

  it('repairs a tool name that cannot be stored', async () => {
    const tool = { name: `a\u0000b${'x'.repeat(3_000)}_prod` };
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, tool })).status).toBe(200);
    expect(protocol.asked[0]?.tool?.name).toMatch(/^ab.{1,1017}_prod$/);
  });

  const member = (n: number) => [`k${n}`, `v${n}`] as const;

  it('never leaves out the caller and the tool, even if contents have to be dropped', async () => {
    const many = Array.from({ length: 20_000 }, (_, n) => n);
    const question = {
      ...QUESTION,
      tool: { name: 'search', tags: many.map((n) => `tag${n}`) },
      actor: { externalId: 'u', metadata: { plan: 'free' } },
      tags: Object.fromEntries(many.map(member)),
      subjects: many.slice(0, 200).map((n) => ({ subjectType: 'customer', value: `c${n}` })),
      metrics: Object.fromEntries(many.slice(0, 200).map((n) => [`m${n}`, n])),
      args: { text: 'é'.repeat(200_000) },
    };
    expect((await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, question)).status).toBe(200);
    const { args, unread, ...identity } = protocol.asked[0] ?? {};
    const { tool, actor, tags, subjects, metrics } = question;
    expect(identity).toMatchObject({ tool, actor, tags, subjects, metrics });
    expect([args, unread?.args?.reason]).toEqual([{ text: null }, 'too_large']);
    expect(Buffer.byteLength(JSON.stringify(protocol.asked[0]))).toBeLessThan(900_000);
  });

  it('blocks a call whose tags alone are too large to be evaluated', async () => {
    const tags = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, 'v'.repeat(1_000)]));
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, tags });
    expect(answer).toMatchObject({ status: 200, body: { verdict: 'BLOCK', cause: { kind: 'LOCKDOWN' } } });
    expect(protocol.asked).toEqual([]);
  });

  it.each([
    ['longer than an id', 'u'.repeat(300)],
    ['with control characters', 'u\n1'],
    ['that is a number', 7],
  ])('keeps an end user with an id %s, distinct from others', async (_, externalId) => {
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, actor: { externalId, name: 5 } });
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, actor: { externalId: `${externalId}2` } });
    const ids = protocol.asked.map(({ actor }) => actor?.externalId ?? '');
    expect([new Set(ids).size, ids.every((id) => /^[^\n]{1,256}$/.test(id))]).toEqual([2, true]);
  });

  it('does not let a repaired name hide a good one', async () => {
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, tags: { k: 'no', 'k\u0001': 'yes' } });
    expect(protocol.asked[0]?.tags).toEqual({ k: 'no' });
  });

  it('gives rules and budgets a minimum time, regardless of the requested deadline', async () => {
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, deadlineMs: 0.0001 });
    expect(protocol.asked[0]?.deadlineMs).toBeGreaterThanOrEqual(50);
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

  it('is asked once and gets the same answer, even while the first is being answered', async () => {
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
    ['a person has not decided yet', { cause: { kind: 'HITL_PENDING', approvalId: 'a' } }],
    ['a person approved the call', { approvalId: 'a' }],
    ['a rule could not be evaluated', { bypasses: [{ ruleId: 'r', why: 'unavailable', did: 'allow' }] }],
  ])('is asked again if %s', async (_, first) => {
    protocol.answer(() => first);
    await ask();
    await ask();
    expect(protocol.asked).toHaveLength(2);
  });

  const change: Readonly<Record<string, () => Promise<unknown>>> = {
    'a rule or a budget changed': () =>
      protocol.gateway.bus.publish(rulesChanged, { tenantId: 'acme', version: 'v2', at: NOW }),
    'a breaker opened': () =>
      protocol.gateway.bus.publish(breakerChanged, {
        ...{ tenantId: 'acme', agentId: 'bot', scope: 'run', scopeId: 'r', version: 1, at: NOW },
        state: { kind: 'open', openedAt: NOW, reason: 'cost' },
      }),
    'a breaker is due': () =>
      protocol.gateway.bus.publish(breakersDue, {
        ...{ tenantId: 'acme', at: NOW, breakers: [{ scope: 'run', scopeId: 'r' }] },
      }),
    'the result of its call was reported': () => ask({ phase: 'tool.after', result: 1 }, 'another'),
    'a minute has passed since its deadline': async () => protocol.gateway.clock.advance(61_001),
  };
  it.each(Object.entries(change))('is asked again if %s', async (_, happens) => {
    await ask();
    await ask();
    expect(protocol.asked).toHaveLength(1);
    await happens();
    await eventually(async () => {
      await ask();
      expect(protocol.asked.filter(({ phase }) => phase === 'tool.before')).toHaveLength(2);
    });
  });

  it('is answered from the cache after a change of another tenant or the result of another call', async () => {
    await ask({ callId: 'c1' });
    await protocol.gateway.bus.publish(rulesChanged, { tenantId: 'globex', version: 'v2', at: NOW });
    await ask({ phase: 'tool.after', result: 1, callId: 'c2' }, 'another');
    await ask({ callId: 'c1' });
    expect(protocol.asked.filter(({ phase }) => phase === 'tool.before')).toHaveLength(1);
  });

  it('is not answered from the cache after the run was stopped', async () => {
    await ask();
    await protocol.gateway.bus.publish(controlOrdered, anOrder());
    await ask();
    expect(protocol.asked).toHaveLength(2);
  });
});

describe('a run that continues under another identity', () => {
  const start = () => protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'bot', sessionId: 's1' });
  const odd = () => protocol.gateway.events().filter(({ sourceType }) => sourceType.startsWith('decision.'));

  it.each(['other', '', undefined])('is stopped with the agent that started it, when naming %j', async (agentId) => {
    await start();
    await protocol.gateway.bus.publish(controlOrdered, anOrder({ scope: 'agent', scopeId: 'bot' }));
    await protocol.leave();
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, agentId });
    expect(answer.body).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { lockdownId: 'order-1' } });
    const beat = await protocol.call('POST', `/v1/runs/${RUN}/heartbeat`, { agentId: 'other' });
    expect(beat.body).toMatchObject({ lockdown: { active: true } });
    const again = await protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'other' });
    expect(again.body).toMatchObject({ lockdown: { active: true } });
  });

  it('is reported once, with the identity that started it', async () => {
    await start();
    for (let n = 0; n < 3; n++)
      await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, agentId: 'other', sessionId: 's2' });
    expect(protocol.asked[0]).toMatchObject({ agentId: 'other', startedAs: { agentId: 'bot', sessionId: 's1' } });
    await eventually(() => expect(odd()).toHaveLength(1));
    expect(odd()[0]).toMatchObject({
      ...{ sourceType: 'decision.other_identity', severity: 'warn', runId: RUN },
      payload: { asked: { agentId: 'other', sessionId: 's2' }, started: { agentId: 'bot', sessionId: 's1' } },
    });
  });

  it('is reported if the name of a tool mixes scripts', async () => {
    await protocol.call('POST', `/v1/runs/${RUN}/evaluate`, { ...QUESTION, tool: { name: 'p\u0430y' } });
    await eventually(() => expect(odd()).toMatchObject([{ sourceType: 'decision.mixed_scripts' }]));
  });
});

describe('a key over its question quota', () => {
  it('is blocked without asking the evaluator, and counted apart from its events', async () => {
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
