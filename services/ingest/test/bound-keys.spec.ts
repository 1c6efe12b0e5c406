import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auditEvent, type Protocol, RUN, startProtocol } from './agent-protocol.ts';
import { type Answer, anEventBody } from './gateway.ts';

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

const bound = () => protocol.gateway.keys.bound;
const call = (method: 'POST' | 'PUT' | 'GET', path: string, body?: unknown) =>
  protocol.call(method, path, body, { key: bound() });
const question = (agentId?: string) => ({ phase: 'tool.before', agentId, tool: { name: 'search' } });

function expectRefused(answer: Answer, agents = ['bot', 'shop']): void {
  expect(answer).toMatchObject({ status: 403, body: { code: 'other_agent', agents } });
  expect(protocol.gateway.events()).toEqual([]);
  expect(protocol.asked).toEqual([]);
}

describe('a key that is bound to agents', () => {
  it('works for each of them', async () => {
    for (const agentId of ['bot', 'shop']) {
      const runId = `run-of-${agentId}`;
      const calls = [
        call('POST', '/v1/agents', { slug: agentId }),
        call('PUT', `/v1/agents/${agentId}/tools`, { tools: [{ name: 'search' }] }),
        call('POST', `/v1/runs/${runId}/start`, { agentId }),
        call('POST', `/v1/runs/${runId}/evaluate`, question(agentId)),
        call('POST', `/v1/runs/${runId}/heartbeat`, { agentId }),
        call('POST', '/v1/runs/events', { agentId, events: [auditEvent({})] }),
        call('GET', `/v1/control/poll?agentId=${agentId}&instanceId=one`),
        call('POST', '/v1/control/order-1/ack', { agentId, instanceId: 'one' }),
        call('POST', `/v1/runs/${runId}/end`, { agentId, status: 'success' }),
      ];
      for (const answer of await Promise.all(calls)) expect(answer.status).toBeLessThan(300);
    }
  });

  it.each([
    ['registers', 'POST', '/v1/agents', { slug: 'other' }],
    ['registers again', 'PUT', '/v1/agents', { slug: 'other' }],
    ['registers tools of', 'PUT', '/v1/agents/other/tools', { tools: [{ name: 'search' }] }],
    ['starts a run of', 'POST', `/v1/runs/${RUN}/start`, { agentId: 'other' }],
    ['asks for', 'POST', `/v1/runs/${RUN}/evaluate`, question('other')],
    ['asks without naming', 'POST', `/v1/runs/${RUN}/evaluate`, question()],
    ['sends a heartbeat of', 'POST', `/v1/runs/${RUN}/heartbeat`, { agentId: 'other' }],
    ['sends audit events of', 'POST', '/v1/runs/events', { agentId: 'other', events: [auditEvent({})] }],
    ['opens the control stream of', 'GET', '/v1/control/stream?agentId=other', undefined],
    ['polls the orders of', 'GET', '/v1/control/poll?agentId=other', undefined],
    ['ends a run of', 'POST', `/v1/runs/${RUN}/end`, { agentId: 'other', status: 'success' }],
    ['acknowledges for', 'POST', '/v1/control/order-1/ack', { agentId: 'other', instanceId: 'one' }],
    ['fetches the rules of', 'GET', '/v1/rules/bundle?agentId=other', undefined],
    ['runs', 'POST', '/v1/demo', undefined],
  ] as const)('is rejected when it %s another agent', async (_does, method, path, body) => {
    expectRefused(await call(method, path, body));
  });

  it('may ask without naming an agent in a run that one of its agents started', async () => {
    await call('POST', `/v1/runs/${RUN}/start`, { agentId: 'shop' });
    expect((await call('POST', `/v1/runs/${RUN}/evaluate`, question())).status).toBe(200);
    expect(protocol.asked).toMatchObject([{ agentId: 'shop' }]);
  });

  it('may not ask in, restart, keep alive or end a run that another agent started', async () => {
    await protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'other' });
    const calls = [
      call('POST', `/v1/runs/${RUN}/evaluate`, question('bot')),
      call('POST', `/v1/runs/${RUN}/start`, { agentId: 'bot' }),
      call('POST', `/v1/runs/${RUN}/heartbeat`, { agentId: 'bot' }),
      call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'success' }),
    ];
    for (const answer of await Promise.all(calls)) {
      expect(answer).toMatchObject({ status: 403, body: { code: 'other_agent' } });
    }
    expect(protocol.asked).toEqual([]);
    expect(protocol.gateway.events().map(({ kind }) => kind)).toEqual(['run.started']);
  });

  describe('that names a parent run', () => {
    const PARENT = 'run-of-parent';
    const startOf = (agentId: string, parentRunId?: string) => ({ agentId, parentRunId });
    const started = (parentRunId: string) =>
      auditEvent({ kind: 'run.started', data: { agent: { name: 'b' }, parentRunId }, parentRunId });
    const naming: Readonly<Record<string, (parentRunId: string) => Promise<Answer>>> = {
      'its start': (parentRunId) => call('POST', `/v1/runs/${RUN}/start`, startOf('bot', parentRunId)),
      'an audit event': (parentRunId) =>
        call('POST', '/v1/runs/events', { agentId: 'bot', events: [started(parentRunId)] }),
    };
    const parents = () =>
      protocol.gateway
        .events()
        .filter(({ runId }) => runId === RUN)
        .map(({ parentRunId, payload }) => parentRunId ?? payload.parentRunId);

    describe.each(Object.entries(naming))('in %s', (_how, name) => {
      it('keeps a run of one of its agents', async () => {
        await call('POST', `/v1/runs/${PARENT}/start`, startOf('shop'));
        expect((await name(PARENT)).status).toBeLessThan(300);
        expect(parents()).toEqual([PARENT]);
      });

      it.each([
        ['a run of another agent', () => protocol.call('POST', `/v1/runs/${PARENT}/start`, startOf('other'))],
        ['an unknown run', async () => undefined],
      ])('leaves out %s', async (_whose, begin) => {
        await begin();
        const { status, body } = await name(PARENT);
        expect(status).toBeLessThan(300);
        expect(parents()).toEqual([undefined]);
        if ('lineage' in body) expect(body.lineage).toEqual({ ancestors: [] });
        await call('POST', `/v1/runs/${RUN}/evaluate`, question('bot'));
        expect(protocol.asked.at(-1)).not.toHaveProperty('ancestors');
        expect(protocol.asked.at(-1)).not.toHaveProperty('ancestorsUnknown');
      });

      it("keeps a run of another agent that the parent's side has announced by starting the child", async () => {
        await protocol.call('POST', `/v1/runs/${PARENT}/start`, startOf('other'));
        await protocol.call('POST', `/v1/runs/${RUN}/start`, startOf('bot', PARENT));
        await name(PARENT);
        expect(new Set(parents())).toEqual(new Set([PARENT]));
        await call('POST', `/v1/runs/${RUN}/evaluate`, question('bot'));
        expect(protocol.asked.at(-1)).toMatchObject({ ancestors: [PARENT] });
      });
    });
  });

  const RUN_OF_OTHER: Readonly<Record<string, () => Promise<Answer>>> = {
    'a call': () => protocol.call('POST', `/v1/runs/${RUN}/start`, { agentId: 'other' }),
    'a session event': () =>
      protocol.gateway.post({
        events: [anEventBody({ agentId: 'other', sessionId: RUN, eventType: 'session_started' })],
      }),
    'any event': () => protocol.gateway.post({ events: [anEventBody({ agentId: 'other', sessionId: RUN })] }),
    'an audit event': () =>
      protocol.call('POST', '/v1/runs/events', {
        agentId: 'other',
        events: [auditEvent({ kind: 'run.ended', data: { status: 'success' } })],
      }),
    spans: () => protocol.call('POST', '/v1/traces', { resourceSpans: [spansOf('other', 0, RUN)] }),
  };
  const TOUCHED_BY: Readonly<Record<string, () => Promise<Answer>>> = {
    'a session event': () =>
      protocol.gateway.post(
        { events: [anEventBody({ agentId: 'bot', sessionId: RUN, eventType: 'session_ended', payload: {} })] },
        { key: bound(), query: '?partial=true' },
      ),
    'an audit event': () =>
      call('POST', '/v1/runs/events', {
        agentId: 'bot',
        events: [auditEvent({ kind: 'run.ended', data: { status: 'success' } })],
      }),
    spans: () => call('POST', '/v1/traces', { resourceSpans: [spansOf('bot', 1, RUN)] }),
    'a question': () => call('POST', `/v1/runs/${RUN}/evaluate`, question('bot')),
    'an end': () => call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'success' }),
  };

  describe.each(Object.entries(RUN_OF_OTHER))('in a run that another agent started by %s', (_how, begin) => {
    it.each(Object.entries(TOUCHED_BY))('changes nothing by %s', async (_by, touch) => {
      expect((await begin()).status).toBeLessThan(300);
      const before = protocol.gateway.events().length;
      const answer = await touch();
      expect(JSON.stringify(answer.body)).toMatch(/bound to/);
      expect(protocol.gateway.events()).toHaveLength(before);
      expect(protocol.asked).toEqual([]);
    });
  });

  it('may report on a run that another agent of the key started', async () => {
    await call('POST', `/v1/runs/${RUN}/start`, { agentId: 'shop' });
    const events = [anEventBody({ agentId: 'bot', sessionId: RUN })];
    expect((await protocol.gateway.post({ events }, { key: bound() })).status).toBe(201);
  });

  it('loses only the events of other agents in a partial batch', async () => {
    const events = [anEventBody({ agentId: 'other' }), anEventBody({ agentId: 'bot' })];
    const answer = await protocol.gateway.post({ events }, { key: bound(), query: '?partial=true' });
    expect(answer).toMatchObject({
      status: 207,
      body: {
        ...{ ingested: 1, rejected: 1 },
        results: [
          { index: 0, status: 403, error: { code: 'other_agent', details: [{ path: 'events.0.agentId' }] } },
          { index: 1, status: 201 },
        ],
      },
    });
    expect(answer.body.results[0].error.details[0].message).toContain('"bot", "shop"');
    expect(protocol.gateway.events()).toMatchObject([{ agentId: 'bot' }]);
  });

  it('loses the whole batch if it is all or nothing', async () => {
    const events = [anEventBody({ agentId: 'other' }), anEventBody({ agentId: 'bot' })];
    const answer = await protocol.gateway.post({ events }, { key: bound() });
    expect(answer).toMatchObject({
      status: 403,
      body: { code: 'other_agent', details: [{ path: 'events.0.agentId' }] },
    });
    expect(protocol.gateway.events()).toEqual([]);
  });

  it('loses the spans of other agents and keeps its own', async () => {
    const answer = await call('POST', '/v1/traces', {
      resourceSpans: ['bot', 'other'].map((agent, index) => spansOf(agent, index)),
    });
    expect(answer).toMatchObject({ status: 200, body: { partialSuccess: { rejectedSpans: expect.anything() } } });
    expect(answer.body.partialSuccess.errorMessage).toContain('"bot", "shop"');
    expect(new Set(protocol.gateway.events().map(({ agentId }) => agentId))).toEqual(new Set(['bot']));
  });
});

/** A run of the agent, as spans of its own service. */
function spansOf(agent: string, index: number, runId?: string): object {
  const textAttribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const span = {
    ...{ traceId: `0af7651916cd43dd8448eb211c80319${index}`, spanId: `000000000000000${index + 1}`, name: 'agent' },
    ...{ startTimeUnixNano: '1772366399000000000', endTimeUnixNano: '1772366400000000000' },
    attributes: [
      textAttribute('gen_ai.operation.name', 'invoke_agent'),
      ...(runId === undefined ? [] : [textAttribute('agentlens.run.id', runId)]),
    ],
  };
  return { resource: { attributes: [textAttribute('service.name', agent)] }, scopeSpans: [{ spans: [span] }] };
}
