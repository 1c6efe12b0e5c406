import {
  controlOrdered,
  type Directive,
  type DirectiveAcknowledged,
  directiveAcknowledged,
  directiveIssued,
  type RunHeartbeats,
  runHeartbeats,
} from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anOrder, auditEvent, type Protocol, RUN, startProtocol } from './agent-protocol.ts';
import { NOW } from './gateway.ts';

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

const events = () => protocol.gateway.events();

describe('registering', () => {
  it('returns the slug as a stable agent id and stores the registration', async () => {
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

  it('accepts both forms of tools and normalises them', async () => {
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
  ])('rejects %s with its path', async (_, body, path) => {
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

  it('returns a lockdown object and makes one durable event, regardless of repetition', async () => {
    for (const _ of [1, 2, 3]) {
      const answer = await protocol.call('POST', `/v1/runs/${RUN}/start`, body);
      expect(answer).toMatchObject({ status: 200, body: { runId: RUN, lockdown: { active: false } } });
      protocol.gateway.clock.advance(1_000);
    }
    expect(protocol.distinct('run.started').size).toBe(1);
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

  it('is dated with its first call if the run id has no time', async () => {
    for (const _ of [1, 2]) {
      await protocol.call('POST', '/v1/runs/my-run/start', { agentId: 'bot' });
      protocol.gateway.clock.advance(60_000);
    }
    expect(protocol.distinct('run.started').size).toBe(1);
    expect(events()[0]?.occurredAt).toBe(NOW);
  });

  it('says why if the run, its agent or its tenant is stopped', async () => {
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
    ['an agent that is a number', { agentId: 7 }],
  ])('rejects %s at once', async (_, body) => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/start`, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path: 'agentId' })]) },
    });
    expect(events()).toEqual([]);
  });

  it('accepts an unregistered agent: its first run makes it known', async () => {
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
    expect(protocol.distinct('run.ended').size).toBe(1);
    expect(events()[0]).toMatchObject({ kind: 'run.ended', outcome, runId: RUN });
  });

  it('and the corresponding audit event are one event, whichever arrives first', async () => {
    const call = () => protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'success' });
    await call();
    protocol.gateway.clock.advance(900);
    await protocol.send([auditEvent({ kind: 'run.ended', data: { status: 'success', totalSteps: 2 } })]);
    await protocol.send([
      auditEvent({ runId: 'other', kind: 'run.ended', data: { status: 'success', totalSteps: 2 } }),
    ]);
    await protocol.call('POST', '/v1/runs/other/end', { agentId: 'bot', status: 'success' });
    expect(protocol.distinct('run.ended').size).toBe(2);
  });

  it('rejects an unknown status', async () => {
    const answer = await protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'great' });
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: 'status' }] } });
  });
});

describe('a run reported by calls, audit events and session events', () => {
  const sessionEvent = (sessionId: string, eventType: string, payload: object) => {
    const event = { id: `${eventType} of ${sessionId}`, eventType, sessionId, agentId: 'bot', payload };
    return protocol.gateway.post({ events: [{ ...event, timestamp: '2026-03-01T11:59:30.000Z' }] });
  };
  const MESSAGES = [
    (runId: string) => protocol.call('POST', `/v1/runs/${runId}/start`, { agentId: 'bot', tags: { env: 'prod' } }),
    (runId: string) => sessionEvent(runId, 'session_started', { agentName: 'Bot' }),
    (runId: string) => protocol.send([auditEvent({ runId, kind: 'run.started', data: {} })]),
    (runId: string) => protocol.call('POST', `/v1/runs/${runId}/end`, { agentId: 'bot', status: 'success' }),
    (runId: string) => sessionEvent(runId, 'session_ended', { reason: 'completed', summary: 'done' }),
    (runId: string) => protocol.send([auditEvent({ runId, kind: 'run.ended', data: { status: 'success' } })]),
  ];

  it('has one start and one end, in any order and regardless of repetition', async () => {
    const orders = fc.array(fc.nat(MESSAGES.length - 1), { minLength: 1, maxLength: 12 });
    let runs = 0;
    const property = fc.asyncProperty(orders, fc.boolean(), async (repeated, hasTimeInId) => {
      runs += 1;
      const runId = hasTimeInId ? `${RUN.slice(0, -3)}${100 + runs}` : `run-${runs}`;
      protocol.gateway.batches.length = 0;
      for (const index of [...repeated, ...MESSAGES.keys()]) {
        expect((await MESSAGES[index]?.(runId))?.status).toBe(index % 3 === 1 ? 201 : 200);
        protocol.gateway.clock.advance(700);
      }
      expect(protocol.distinct('run.started').size).toBe(1);
      expect(protocol.distinct('run.ended').size).toBe(1);
    });
    await fc.assert(property, { numRuns: 50 });
  });

  it('has one start if a call and an event arrive together and the run id has no time', async () => {
    const start = { eventType: 'session_started', sessionId: 'mine', agentId: 'bot', payload: {} };
    const answers = await Promise.all([
      protocol.call('POST', '/v1/runs/mine/start', { agentId: 'bot' }),
      protocol.gateway.post({ events: [start] }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 201]);
    expect(protocol.distinct('run.started').size).toBe(1);
  });

  it('keeps each start and end of a session without calls as it was sent', async () => {
    const times = ['2026-03-01T11:00:00.000Z', '2026-03-01T11:30:00.000Z'];
    for (const [index, timestamp] of times.entries()) {
      const common = { sessionId: RUN, agentId: 'bot', timestamp };
      const events = [
        { ...common, id: `start-${index}`, eventType: 'session_started', payload: {} },
        { ...common, id: `end-${index}`, eventType: 'session_ended', payload: { reason: 'completed' } },
      ];
      expect((await protocol.gateway.post({ events })).status).toBe(201);
    }
    expect(events().map(({ id, occurredAt }) => `${id} ${occurredAt}`)).toEqual(
      times.flatMap((time, index) => [`start-${index} ${time}`, `end-${index} ${time}`]),
    );
  });
});

describe('heartbeats', () => {
  it('reach run-tracking in batches, are not events, and return the orders against the run', async () => {
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
  it('is recorded durably for the instance that received the order', async () => {
    const acks: DirectiveAcknowledged[] = [];
    await protocol.gateway.bus.watch(directiveAcknowledged, { from: 'new' }, ({ value }) => acks.push(value));
    const body = { agentId: 'bot', instanceId: 'i1' };
    await protocol.call('GET', '/v1/control/poll?agentId=bot&instanceId=i1');
    for (const _ of [1, 2]) expect((await protocol.call('POST', '/v1/control/d1/ack', body)).status).toBe(200);
    expect(acks).toEqual([{ tenantId: 'acme', directiveId: 'd1', ...body, acknowledgedAt: NOW }]);
  });

  it('requires the agent and the instance', async () => {
    expect(await protocol.call('POST', '/v1/control/d1/ack', { agentId: 'bot' })).toMatchObject({ status: 400 });
  });
});
