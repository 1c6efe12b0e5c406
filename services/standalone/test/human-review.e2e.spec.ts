import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** People and agents at the public address, with the whole platform between them. */
describe('human review', () => {
  let platform: PlatformUnderTest;
  let admin: Client;
  let reviewer: Client;
  let agent: Client;
  let agentKey: string;
  beforeAll(async () => {
    platform = await startEmbedded();
    const clientOf = async (...scopes: Parameters<PlatformUnderTest['keyOf']>[1][]) => {
      const { key } = await platform.keyOf('acme', ...scopes);
      return new Client(platform, key);
    };
    admin = await clientOf('admin');
    reviewer = await clientOf('read', 'review');
    agentKey = (await platform.keyOf('acme', 'ingest', 'decide')).key;
    agent = new Client(platform, agentKey);
    await admin.post('/api/guardrails', {
      name: 'Payments need a human',
      conditionType: 'tool_name',
      conditionConfig: { value: 'pay*' },
      actionType: 'require_approval',
      actionConfig: { title: 'May it pay?' },
    });
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([1]));
  });
  afterAll(() => platform?.stop());

  const evaluate = async (runId: string, fields: object = {}) => {
    const answer = await agent.post(`/v1/runs/${runId}/evaluate`, {
      phase: 'tool.before',
      agentId: 'payer',
      tool: { name: 'pay_invoice' },
      args: { amount: 10 },
      tags: {},
      // A busy machine may need longer than a second; the test is about the answer.
      deadlineMs: 2_000,
      ...fields,
    });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const approvalOf = async (runId: string) => {
    const { body } = await reviewer.get(`/api/alerts?kind=approval&runId=${runId}`);
    return body.alerts[0];
  };

  it('holds a call back until a person approves exactly that call, and allows it once', async () => {
    expect(await evaluate('run-1')).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'HITL_PENDING' } });
    const alert = await approvalOf('run-1');
    expect(alert).toMatchObject({ status: 'pending', title: 'May it pay?', agentId: 'payer', runId: 'run-1' });
    expect(await evaluate('run-1')).toMatchObject({ cause: { kind: 'HITL_PENDING', approvalId: alert.id } });

    expect((await agent.post(`/api/alerts/${alert.id}/approve`, {})).status).toBe(403);
    const verdicts = await Promise.all(
      ['approve', 'approve'].map((verb) => reviewer.post(`/api/alerts/${alert.id}/${verb}`, { reason: 'known payee' })),
    );
    expect(verdicts.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);

    expect(await evaluate('run-1', { args: { amount: 10_000 } })).toMatchObject({ verdict: 'BLOCK' });
    expect(await evaluate('run-1')).toMatchObject({ verdict: 'ALLOW' });
    expect((await reviewer.get(`/api/alerts/${alert.id}`)).body).toMatchObject({
      status: 'approved',
      usedAt: expect.any(String),
      reason: 'known payee',
    });
  });

  it('reports a denial to the agent, even after a restart', async () => {
    await evaluate('run-2');
    const { id } = await approvalOf('run-2');
    expect((await reviewer.post(`/api/alerts/${id}/deny`, {})).status).toBe(200);
    expect(await evaluate('run-2')).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION' } });
    await platform.restart();
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([1]));
    // The first questions to a platform that has just started may exceed their deadline, and are allowed by default.
    await eventually(async () =>
      expect(await evaluate('run-2')).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION' } }),
    );
  });

  it('notifies people once of an open breaker, and lets them close it', async () => {
    const limits = { scope: 'run', id: 'run-5', limits: { maxTokens: 10 } };
    expect((await admin.put('/api/breakers/limits', limits)).status).toBe(200);
    const call = { agentId: 'spender', tool: { name: 'search' } };
    await evaluate('run-5', { ...call, metrics: { llm_tokens_in: 50 } });
    await eventually(async () => expect(await evaluate('run-5', call)).toMatchObject({ cause: { kind: 'LOCKDOWN' } }));
    const breakerAlerts = async () => (await reviewer.get('/api/alerts?kind=breaker&agentId=spender')).body.alerts;
    await eventually(async () => expect(await breakerAlerts()).toMatchObject([{ status: 'pending', runId: 'run-5' }]));
    expect((await reviewer.get('/api/breakers?state=open')).body.breakers).toMatchObject([{ scopeId: 'run-5' }]);

    await eventually(async () => expect((await admin.post('/api/breakers/run/run-5/reset', {})).status).toBe(200));
    await eventually(async () => expect(await evaluate('run-5', call)).toMatchObject({ verdict: 'ALLOW' }));
    await eventually(async () =>
      expect(await breakerAlerts()).toEqual([expect.objectContaining({ status: 'cancelled', decidedBy: 'agentlens' })]),
    );
    expect((await breakerAlerts())[0]).not.toHaveProperty('suppressed');
  });

  it('kills a run, blocks its next call, and counts the acknowledgements', async () => {
    const call = { tool: { name: 'search' } };
    expect(await evaluate('run-3', call)).toMatchObject({ verdict: 'ALLOW' });
    const path = '/v1/control/stream?agentId=payer&instanceId=one';
    const listening = new AbortController();
    const stream = await fetch(`${platform.addressFor('GET', path)}${path}`, {
      headers: { authorization: `Bearer ${agentKey}` },
      signal: listening.signal,
    });
    const acknowledging = acknowledgeOrders(stream, (id) =>
      agent.post(`/v1/control/${id}/ack`, { agentId: 'payer', instanceId: 'one' }),
    );
    const killed = await admin.post('/api/control', {
      scope: 'agent',
      id: 'payer',
      state: 'killed',
      reason: 'enough',
      waitMs: 5_000,
    });
    expect(killed).toMatchObject({
      status: 200,
      body: { order: { state: 'killed', version: 1 }, connected: 1, acknowledged: 1, fastestMs: expect.any(Number) },
    });
    expect(await evaluate('run-3', call)).toMatchObject({
      verdict: 'BLOCK',
      control: 'TERMINATE',
      cause: { kind: 'LOCKDOWN' },
    });
    expect(await evaluate('run-started-later', call)).toMatchObject({ cause: { kind: 'LOCKDOWN' } });
    await admin.post('/api/control', { scope: 'agent', id: 'payer', state: 'running', waitMs: 0 });
    await eventually(async () => expect(await evaluate('run-4', call)).toMatchObject({ verdict: 'ALLOW' }));
    listening.abort();
    await acknowledging;
  });
});

/** Reads a control stream like an SDK, until it is closed. */
async function acknowledgeOrders(stream: Response, acknowledge: (id: string) => Promise<unknown>): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of stream.body ?? []) {
      const frames = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const id = /event: order\n.*data: .*?"id":"([^"]+)"/s.exec(frame)?.[1];
        if (id !== undefined) await acknowledge(id);
      }
    }
  } catch {
    // The stream was closed.
  }
}
