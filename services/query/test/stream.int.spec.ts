import { agentEvents, guardrailTriggered, runChanged } from '@agentlens/contracts';
import { openStream, Session, StoredEvent } from '@agentlens/operations';
import { aBatch, anEvent, aTrigger, eventually } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aBudgetRow, anAuditRow, aRunRow } from './rows.ts';
import { readStream, type StreamReader } from './stream-reader.ts';

let api: OperatorApi;
let address: string;
const open: StreamReader[] = [];

beforeAll(async () => {
  api = await startOperatorApi();
  await api.app.listen(0, '127.0.0.1');
  address = await api.app.getUrl();
});
afterAll(async () => {
  // The server would wait for the keep-alive connections of clients.
  api.app.getHttpServer().closeAllConnections();
  await api.close();
});
afterEach(() => {
  for (const reader of open.splice(0)) reader.close();
});

async function connect(query = '', lastEventId?: string, key = api.keys.reader.key): Promise<StreamReader> {
  const headers: Record<string, string> = { authorization: `Bearer ${key}` };
  if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
  const reader = await readStream(`${address}/api/stream?${query}`, headers);
  open.push(reader);
  // After the first heartbeat, no new message can be missed.
  if (reader.status === 200) await reader.until('heartbeat');
  return reader;
}

const publish = (...ids: string[]) =>
  api.bus.publish(agentEvents, aBatch({ events: ids.map((id) => anEvent({ id })), receivedAt: NOW }));
const idsOf = (frames: readonly { data: { id: string } }[]) => frames.map((frame) => frame.data.id);

describe('the stream', () => {
  it('starts with a heartbeat and is never cached', async () => {
    const reader = await connect();
    expect(reader.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(reader.headers.get('cache-control')).toContain('no-store');
    expect(reader.frames[0]).toMatchObject({ event: 'heartbeat', data: { time: NOW }, id: expect.any(String) });
  });

  it('sends a heartbeat every 30 seconds, with an id to resume from', async () => {
    jest.useFakeTimers({
      doNotFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'],
    });
    try {
      const reader = await connect();
      jest.advanceTimersByTime(29_999);
      await publish('between');
      await reader.until('event');
      expect(reader.frames.filter((frame) => frame.event === 'heartbeat')).toHaveLength(1);
      jest.advanceTimersByTime(1);
      const [, second] = await reader.until('heartbeat', 2);
      expect(second?.id).toBe(reader.frames.find((frame) => frame.event === 'event')?.id);
    } finally {
      jest.useRealTimers();
    }
  });

  it('shows events in the shape in which they are stored', async () => {
    const reader = await connect();
    await publish('s1', 's2');
    const frames = await reader.until('event', 2);
    expect(idsOf(frames)).toEqual(['s1', 's2']);
    expect(StoredEvent.parse(frames[0]?.data)).toEqual(frames[0]?.data);
  });

  it('accepts the key as a parameter for clients that cannot send headers', async () => {
    const reader = await readStream(`${address}/api/stream?token=${api.keys.reader.key}`);
    open.push(reader);
    expect(reader.status).toBe(200);
    const refused = await readStream(`${address}/api/stream?token=agk_live_wrong`);
    expect(refused.status).toBe(401);
  });

  it('accepts a ticket instead, which does not reveal the key and is valid for streams only', async () => {
    const { status, body } = await api.call('POST', '/api/stream/tickets', { key: api.keys.reader.key });
    expect({ status, expiresAt: body.expiresAt }).toEqual({ status: 201, expiresAt: '2026-03-01T12:01:00.000Z' });
    expect(body.ticket).not.toContain(api.keys.reader.key);
    for (const path of ['/api/stream', '/api/alerts/stream']) {
      const reader = await readStream(`${address}${path}?ticket=${body.ticket}`);
      open.push(reader);
      expect(reader.status).toBe(200);
      await reader.until('heartbeat');
    }
    expect((await fetch(`${address}/api/events?ticket=${body.ticket}`)).status).toBe(401);
    expect((await fetch(`${address}/api/stream?ticket=${body.ticket.slice(0, -4)}AAAA`)).status).toBe(401);
  });

  it('gives a ticket the permissions of its key, while the key is valid', async () => {
    const ticketOf = async (key: string) => (await api.call('POST', '/api/stream/tickets', { key })).body.ticket;
    const { id, key } = await api.newKey(['read']);
    const ticket = await ticketOf(key);
    await api.call('DELETE', `/api/keys/${id}`);
    await eventually(async () => expect((await fetch(`${address}/api/stream?ticket=${ticket}`)).status).toBe(401));
    expect((await api.call('POST', '/api/stream/tickets', { key: api.keys.ingest.key })).status).toBe(403);
  });

  it('shows alerts with the fields that AgentLens clients read', async () => {
    const reader = await connect();
    const trigger = aTrigger({ runId: 'run-9' });
    await api.bus.publish(guardrailTriggered, trigger);
    const [alert] = await reader.until('alert');
    expect(alert?.data).toMatchObject({
      ruleId: trigger.ruleId,
      name: trigger.ruleName,
      currentValue: trigger.conditionValue,
      threshold: trigger.conditionThreshold,
      message: trigger.message,
      triggeredAt: trigger.triggeredAt,
      triggerId: trigger.id,
      sessionId: 'run-9',
    });
  });

  it('shows the current state of a session after a change', async () => {
    await api.insert('runs', aRunRow({ run_id: 'moved' }));
    const reader = await connect('sessionId=moved');
    await api.bus.publish(runChanged, { tenantId: 'acme', runIds: ['other', 'moved'], at: NOW });
    const [update] = await reader.until('session_update');
    expect(Session.parse(update?.data)).toMatchObject({ id: 'moved', status: 'active' });
  });

  it('is filtered by session, agent and event type', async () => {
    const reader = await connect('agentId=a&sessionId=r&eventType=tool_call,llm.completed');
    const right = { agentId: 'a', runId: 'r', sourceType: 'tool_call' };
    const events = [
      anEvent({ ...right, id: 'other-agent', agentId: 'b' }),
      anEvent({ ...right, id: 'other-run', runId: 'q' }),
      anEvent({ ...right, id: 'other-type', sourceType: 'custom' }),
      anEvent({ ...right, id: 'right' }),
      anEvent({ ...right, id: 'by-kind', sourceType: 'llm_response', kind: 'llm.completed' }),
    ];
    await api.bus.publish(agentEvents, aBatch({ events }));
    await api.bus.publish(guardrailTriggered, aTrigger({ agentId: 'b' }));
    await api.bus.publish(guardrailTriggered, aTrigger({ agentId: 'a', runId: 'r' }));
    const [alert] = await reader.until('alert');
    expect(alert?.data.agentId).toBe('a');
    expect(idsOf(await reader.until('event', 2))).toEqual(['right', 'by-kind']);
  });

  it('shows nothing of another tenant', async () => {
    const reader = await connect('', undefined, api.keys.foreign.key);
    await publish('of-acme');
    await api.bus.publish(guardrailTriggered, aTrigger());
    await api.bus.publish(agentEvents, aBatch({ tenantId: 'globex', events: [anEvent({ id: 'of-globex' })] }));
    expect(idsOf(await reader.until('event'))).toEqual(['of-globex']);
    expect(reader.frames.filter((frame) => frame.event === 'alert')).toEqual([]);
  });
});

describe('resuming', () => {
  it('resumes after the last frame, even in the middle of a batch', async () => {
    const first = await connect();
    await publish('r1', 'r2', 'r3');
    const [, second] = await first.until('event', 3);
    first.close();
    await publish('r4');
    const resumed = await connect('', second?.id);
    expect(idsOf(await resumed.until('event', 2))).toEqual(['r3', 'r4']);
    await publish('r5');
    expect(idsOf(await resumed.until('event', 3))).toEqual(['r3', 'r4', 'r5']);
  });

  it('misses no alert, even for a client that only received a heartbeat', async () => {
    const first = await connect('agentId=nobody');
    const [heartbeat] = await first.until('heartbeat');
    first.close();
    await api.bus.publish(guardrailTriggered, aTrigger({ agentId: 'nobody', message: 'while away' }));
    const resumed = await connect('agentId=nobody', heartbeat?.id);
    expect((await resumed.until('alert')).map((frame) => frame.data.message)).toEqual(['while away']);
  });

  it('repeats nothing if nothing happened', async () => {
    const first = await connect();
    await publish('n1');
    const [last] = await first.until('event');
    first.close();
    const resumed = await connect('', last?.id);
    await publish('n2');
    expect(idsOf(await resumed.until('event'))).toEqual(['n2']);
  });

  it('delivers everything after a long absence', async () => {
    const first = await connect();
    await publish('l0');
    const [last] = await first.until('event');
    first.close();
    for (let batch = 0; batch < 20; batch++) {
      await publish(...Array.from({ length: 100 }, (_, i) => `l${batch}-${i}`));
    }
    const resumed = await connect('', last?.id);
    const ids = idsOf(await resumed.until('event', 2_000));
    expect(new Set(ids).size).toBe(2_000);
    expect(ids[0]).toBe('l0-0');
    expect(ids.at(-1)).toBe('l19-99');
  });

  it('rejects an invalid id', async () => {
    const reader = await connect('', 'yesterday');
    expect(reader.status).toBe(400);
  });
});

describe('HEAD', () => {
  it('ends at once without a body', async () => {
    const answer = await fetch(`${address}/api/stream?token=${api.keys.reader.key}`, { method: 'HEAD' });
    expect(await answer.text()).toBe('');
  });
});

describe('record frames', () => {
  const spent = (usd: number, id: string) =>
    api.insert('budget_ledger', {
      ...{ tenant_id: 'acme', budget_id: 'budget-1', scope_id: 'agent-1', period_start: '2026-03-01' },
      ...{ reservation_id: id, estimate_usd: usd, cost_usd: usd, settled_at: NOW },
    });

  it('show each new change and each reached budget once, to their own tenant', async () => {
    await api.insert('budgets', aBudgetRow({ limit_usd: 10 }));
    await spent(8, 'before');
    await api.insert('audit_entries', anAuditRow({ entry_id: 'before' }));
    const reader = await connect('kinds=budget,audit', undefined, api.keys.admin.key);
    const theirs = await connect('kinds=budget,audit', undefined, api.keys.foreign.key);
    await spent(2, 'all');
    await api.insert('audit_entries', anAuditRow({ entry_id: 'since' }));
    const [budget] = await reader.until('budget');
    expect(budget?.data).toMatchObject({ budget: { id: 'budget-1' }, scopeId: 'agent-1', spentUsd: 10, share: 1 });
    expect(openStream.frames.budget.parse(budget?.data)).toEqual(budget?.data);
    const [change] = await reader.until('audit');
    expect(openStream.frames.audit.parse(change?.data)).toEqual(change?.data);
    // A later client receives neither, and the first one does not receive them twice.
    const later = await connect('kinds=budget,audit', undefined, api.keys.admin.key);
    await api.insert('audit_entries', anAuditRow({ entry_id: 'last' }));
    await later.until('audit');
    await reader.until('audit', 2);
    expect(idsOf(later.frames.filter(({ event }) => event === 'audit'))).toEqual(['last']);
    expect(idsOf(reader.frames.filter(({ event }) => event === 'audit'))).toEqual(['since', 'last']);
    expect(reader.frames.filter(({ event }) => event === 'budget')).toHaveLength(1);
    expect(theirs.frames.filter(({ event }) => event !== 'heartbeat')).toEqual([]);
  });

  it('show budgets to every reader, filtered by agent, and changes to admins only', async () => {
    const refused = await connect('kinds=audit,event');
    expect(refused.status).toBe(403);
    const other = await connect('kinds=budget&agentId=agent-2');
    const reader = await connect('kinds=budget&agentId=agent-1');
    await api.insert('budgets', aBudgetRow({ budget_id: 'budget-2', limit_usd: 1 }));
    await api.insert('budget_ledger', {
      ...{ tenant_id: 'acme', budget_id: 'budget-2', scope_id: 'agent-1', period_start: '2026-03-01' },
      ...{ reservation_id: 'r', estimate_usd: 1, cost_usd: 0.8, settled_at: NOW },
    });
    await reader.until('budget');
    expect(other.frames.filter(({ event }) => event === 'budget')).toEqual([]);
  });
});

describe('the end of a stream', () => {
  it('follows when its key is revoked', async () => {
    const { id, key } = await api.newKey(['read']);
    const reader = await connect('', undefined, key);
    await api.call('DELETE', `/api/keys/${id}`);
    const [closed] = await reader.until('closed');
    expect(closed?.data.reason).toContain('no longer valid');
    await eventually(() => expect(reader.ended()).toBe(true));
  });

  it('follows when the server shuts down without waiting for readers', async () => {
    const own = await startOperatorApi();
    await own.app.listen(0, '127.0.0.1');
    const reader = await readStream(`${await own.app.getUrl()}/api/stream?token=${own.keys.reader.key}`);
    await reader.until('heartbeat');
    await own.close();
    expect((await reader.until('closed')).at(0)?.data.reason).toContain('reconnect');
  });
});
