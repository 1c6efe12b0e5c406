import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { auditEvent, type Protocol, RUN, startProtocol } from './agent-protocol.ts';
import { NOW } from './gateway.ts';

let protocol: Protocol;
beforeEach(async () => {
  protocol = await startProtocol();
});
afterEach(() => protocol.close());

const events = () => protocol.gateway.events();

describe('audit events', () => {
  it('are priced, counted once, and accepted before, during and after the end of a run', async () => {
    const list = [
      auditEvent({ kind: 'run.started', data: { agent: { id: 'bot' }, adapter: { name: 'core' } } }),
      auditEvent({
        kind: 'llm.result',
        stepIndex: 0,
        data: { model: { name: 'gpt-4o' }, tokens: { in: 1000, out: 500 } },
      }),
      auditEvent({
        kind: 'tool.result',
        stepIndex: 0,
        data: { tool: { name: 'search' }, outcome: 'error', durationMs: 5 },
      }),
    ];
    await protocol.send(list);
    await protocol.call('POST', `/v1/runs/${RUN}/end`, { agentId: 'bot', status: 'success' });
    expect(await protocol.send(list)).toMatchObject({ status: 200, body: { accepted: 3, rejected: 0 } });
    const [, llm, tool] = events();
    expect(llm).toMatchObject({
      kind: 'llm.completed',
      provider: 'openai',
      usage: { costSource: 'priced', totalTokens: 1500 },
    });
    expect(llm?.usage?.costUsd).toBeGreaterThan(0);
    expect(tool).toMatchObject({ kind: 'tool.completed', toolName: 'search', isError: true, usage: { latencyMs: 5 } });
    for (const kind of ['run.started', 'llm.completed', 'tool.completed'] as const)
      expect(protocol.distinct(kind).size).toBe(1);
  });

  it('are kept with a notice if the server does not know them', async () => {
    const answer = await protocol.send([
      auditEvent({ kind: 'agent.dreamt', data: { of: 'sheep' } }),
      auditEvent({ schema: 'handlebar.audit.v9', kind: 'error', data: { scope: 'agent', message: 'x' } }),
      auditEvent({ kind: 'error', data: { scope: 'agent', message: 'y' } }),
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

  it('are rejected one by one, with the place of the problem', async () => {
    const answer = await protocol.send([
      auditEvent({ kind: 'error' }),
      auditEvent({ runId: '', kind: 'error' }),
      'x',
      auditEvent({ ts: 'noon', kind: 'error' }),
    ]);
    expect(answer).toMatchObject({ status: 207, body: { accepted: 1, rejected: 3 } });
    expect(
      answer.body.results.map((one: { error: { details: { path: string }[] } }) => one.error.details[0]?.path),
    ).toEqual(['events.1.runId', 'events.2', 'events.3.ts']);
  });

  it('with a wrong clock are dated with their first arrival, and the same on a retry', async () => {
    const list = [
      auditEvent({ ts: '2031-01-01T00:00:00Z', kind: 'error', data: { message: 'x' } }),
      auditEvent({ ts: 5, kind: 'error' }),
    ];
    expect((await protocol.send(list)).body).toEqual({ accepted: 2, rejected: 0 });
    protocol.gateway.clock.advance(5_000);
    await protocol.send(list);
    expect(protocol.distinct('error.raised').size).toBe(2);
    expect(events()[0]).toMatchObject({ occurredAt: NOW, metadata: { clientTime: '2031-01-01T00:00:00.000Z' } });
  });

  it('carry ids, parents and tags of clients with our extensions', async () => {
    await protocol.send([
      auditEvent({ id: 'mine-1', kind: 'tool.result', parentRunId: 'p', parentToolUseId: 't', tags: ['a', 'a'] }),
    ]);
    expect(events()[0]).toMatchObject({ id: 'mine-1', parentRunId: 'p', parentToolUseId: 't', tags: ['a'] });
  });

  it('count against the quota of their key', async () => {
    const { slow } = protocol.gateway.keys;
    const batch = {
      agentId: 'bot',
      events: Array.from({ length: 8 }, (_, stepIndex) => auditEvent({ kind: 'error', stepIndex })),
    };
    expect((await protocol.call('POST', '/v1/runs/events', batch, { key: slow })).status).toBe(200);
    const answer = await protocol.call('POST', '/v1/runs/events', batch, { key: slow });
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': expect.any(String) } });
  });

  it('cannot forge a registration', async () => {
    await protocol.send([auditEvent({ kind: 'agent.registered', data: { slug: 'other' } })]);
    expect(events()[0]?.kind).toBe('custom.recorded');
  });

  it.each([
    ['no agent', { events: [auditEvent({ kind: 'error' })] }, 'agentId'],
    ['no events', { agentId: 'bot' }, 'events'],
    ['an empty batch', { agentId: 'bot', events: [] }, 'events'],
    ['a null body', null, 'agentId'],
  ])('with %s are rejected as a batch', async (_, body, path) => {
    const answer = await protocol.call('POST', '/v1/runs/events', body);
    expect(answer).toMatchObject({
      status: 400,
      body: { details: expect.arrayContaining([expect.objectContaining({ path })]) },
    });
  });
});
