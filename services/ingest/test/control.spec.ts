import { createHmac } from 'node:crypto';
import {
  type Alert,
  alertChanged,
  type ControlOrder,
  controlOrdered,
  type Directive,
  directiveIssued,
  rulesChanged,
} from '@agentlens/contracts';
import { writeAcknowledgement } from '@agentlens/contracts/signed-acknowledgement';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Protocol, startProtocol } from './agent-protocol.ts';
import { type ControlListener, listen } from './control-listener.ts';
import { NOW } from './gateway.ts';

let protocol: Protocol;
let address: string;
const open: ControlListener[] = [];

beforeEach(async () => {
  protocol = await startProtocol();
  await protocol.gateway.app.listen(0, '127.0.0.1');
  address = await protocol.gateway.app.getUrl();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((listener) => listener.close()));
  await protocol.close();
});

async function connect(query = 'agentId=bot&instanceId=i1', lastEventId?: string, key = protocol.gateway.keys.agent) {
  const headers = { authorization: `Bearer ${key}`, ...(lastEventId && { 'last-event-id': lastEventId }) };
  const listener = await listen(`${address}/v1/control/stream?${query}`, headers);
  open.push(listener);
  return listener;
}

let serial = 0;
function anOrder(fields: Partial<ControlOrder> = {}): ControlOrder {
  serial += 1;
  return {
    id: `order-${serial}`,
    tenantId: 'acme',
    scope: 'run',
    scopeId: 'run-1',
    state: 'killed',
    reason: 'runaway',
    by: 'ops',
    version: serial,
    issuedAt: NOW,
    ...fields,
  };
}
function aDirective(fields: Partial<Directive> = {}): Directive {
  serial += 1;
  const paused = { at: NOW, reason: 'errors' };
  return {
    id: `directive-${serial}`,
    tenantId: 'acme',
    agentId: 'bot',
    version: serial,
    paused,
    modelOverride: null,
    issuedAt: NOW,
    ...fields,
  };
}
const order = (fields?: Partial<ControlOrder>) => protocol.gateway.bus.publish(controlOrdered, anOrder(fields));
const direct = (fields?: Partial<Directive>) => protocol.gateway.bus.publish(directiveIssued, aDirective(fields));

const idsOf = ({ news }: ControlListener) => new Set(news.flatMap(({ data }) => data.id ?? []));

describe('a ticket', () => {
  const ticketOf = async (key: string) => {
    const answer = await protocol.call('POST', '/v1/control/tickets', undefined, { key });
    return answer.body.ticket as string;
  };
  const withTicket = async (ticket: string, agentId = 'bot') => {
    const listener = await listen(`${address}/v1/control/stream?agentId=${agentId}&ticket=${ticket}`, {});
    open.push(listener);
    return listener;
  };

  it('opens the control stream for a minute', async () => {
    const ticket = await ticketOf(protocol.gateway.keys.agent);
    expect((await withTicket(ticket)).status).toBe(200);
    protocol.gateway.clock.advance(59_999);
    const listener = await withTicket(ticket);
    await listener.until('ready');
    protocol.gateway.clock.advance(1);
    expect((await withTicket(ticket)).status).toBe(401);
  });

  it('is limited to the agents of its key', async () => {
    const ticket = await ticketOf(protocol.gateway.keys.bound);
    expect((await withTicket(ticket)).status).toBe(200);
    expect((await withTicket(ticket, 'other')).status).toBe(403);
  });

  it('is not issued for a key that may not listen', async () => {
    const answer = await protocol.call('POST', '/v1/control/tickets', undefined, { key: protocol.gateway.keys.ingest });
    expect(answer.status).toBe(403);
  });
});

describe('the control stream', () => {
  it('sends the current state, then "ready", then every change', async () => {
    await direct({ id: 'd1' });
    const listener = await connect();
    expect(listener.status).toBe(200);
    await listener.until('ready');
    expect(listener.news.map(({ event }) => event)).toEqual(['directive', 'ready']);
    expect(listener.news[0]?.data).toMatchObject({ id: 'd1', paused: { reason: 'errors' } });
    await order({ id: 'o1' });
    const [received] = await listener.until('order');
    expect(received?.data).toMatchObject({ id: 'o1', scope: 'run', scopeId: 'run-1', state: 'killed' });
  });

  it('sends nothing about other agents and tenants', async () => {
    const listener = await connect();
    await listener.until('ready');
    await direct({ agentId: 'other' });
    await order({ scope: 'agent', scopeId: 'other' });
    await order({ tenantId: 'globex' });
    await order({ id: 'mine', scope: 'tenant', scopeId: 'acme', state: 'paused' });
    await listener.until('order');
    expect(listener.news.map(({ data }) => data.id)).toEqual([undefined, 'mine']);
  });

  it('sends killed runs to all processes of the tenant, which may have descendant runs', async () => {
    await order({ id: 'theirs before', scopeId: 'r1', agentId: 'other' });
    const listener = await connect();
    await listener.until('ready');
    await order({ id: 'theirs', scopeId: 'r2', agentId: 'other' });
    await order({ id: 'ours', scopeId: 'r3', agentId: 'bot' });
    await order({ id: 'anybody’s', scopeId: 'r4' });
    await listener.until('order', 4);
    expect(idsOf(listener)).toEqual(new Set(['theirs before', 'theirs', 'ours', 'anybody’s']));
  });

  it('resumes without a gap or repetition, including what was lifted in between', async () => {
    await order({ scopeId: 'run-0' });
    await direct();
    const first = await connect();
    const [ready] = await first.until('ready');
    await order({ id: 'seen' });
    const [seen] = await first.until('order', 2).then((orders) => orders.slice(1));
    await first.close();
    await order({ id: 'missed', scopeId: 'run-2' });
    await direct({ id: 'lifted', paused: null });
    const resumed = await connect(undefined, seen?.id);
    await resumed.until('ready');
    expect(idsOf(resumed)).toEqual(new Set(['lifted', 'missed']));
    const earlier = await connect(undefined, ready?.id);
    await earlier.until('ready');
    expect(idsOf(earlier)).toEqual(new Set(['lifted', 'missed', 'seen']));
  });

  it('starts from the beginning for an unknown id', async () => {
    await order({ id: 'o1' });
    const listener = await connect(undefined, 'nonsense');
    await listener.until('ready');
    expect(listener.news[0]?.data.id).toBe('o1');
  });

  it('counts the instance as present', async () => {
    await connect('agentId=bot&instanceId=i7').then((listener) => listener.until('ready'));
    await eventually(async () => {
      expect(await protocol.gateway.platform.presence.list('acme')).toEqual([{ agentId: 'bot', instanceId: 'i7' }]);
    });
  });

  it('sends a decided approval to the agent that waits for it', async () => {
    const listener = await connect();
    const other = await connect('agentId=other');
    await Promise.all([listener.until('ready'), other.until('ready')]);
    const approval = { runId: 'run-1', callId: 'c1', toolName: 't', argsHash: 'h', ruleId: 'r', ruleVersion: 1 };
    const alert: Alert = {
      id: 'a1',
      tenantId: 'acme',
      kind: 'approval',
      status: 'pending',
      severity: 'info',
      title: 't',
      message: 'm',
      agentId: 'bot',
      runId: 'run-1',
      approval,
      createdAt: NOW,
      version: 1,
    };
    await protocol.gateway.bus.publish(alertChanged, alert);
    await protocol.gateway.bus.publish(alertChanged, { ...alert, status: 'approved', version: 2 });
    const received = await listener.until('approval');
    expect(received.map(({ data }) => data)).toEqual([
      { approvalId: 'a1', status: 'approved', runId: 'run-1', callId: 'c1' },
    ]);
    expect(other.news.map(({ event }) => event)).toEqual(['ready']);
  });

  it('announces changed rules to their tenant', async () => {
    const listener = await connect();
    await listener.until('ready');
    const { bus } = protocol.gateway;
    await bus.publish(rulesChanged, { tenantId: 'globex', version: 'g-1', at: NOW });
    await bus.publish(rulesChanged, { tenantId: 'acme', version: 'a-1', at: NOW });
    expect((await listener.until('rules')).map(({ data }) => data)).toEqual([{ version: 'a-1' }]);
  });

  it('ends when its key is revoked', async () => {
    const listener = await connect();
    await listener.until('ready');
    protocol.gateway.revoke('agent');
    expect((await listener.until('closed'))[0]?.data.reason).toMatch(/no longer valid/);
  });

  it('requires an agent', async () => {
    const answer = await protocol.call('GET', '/v1/control/stream');
    expect(answer).toMatchObject({ status: 400, body: { details: [{ path: 'query.agentId' }] } });
  });
});

describe('the poll', () => {
  const poll = (query: string) => protocol.call('GET', `/v1/control/poll?agentId=bot&instanceId=i1&${query}`);

  it('answers a new client at once, with the full current state', async () => {
    await order({ id: 'o1' });
    const { status, body } = await poll('');
    expect(status).toBe(200);
    expect(body.items).toMatchObject([{ kind: 'order', id: expect.any(String), value: { id: 'o1', state: 'killed' } }]);
    expect(await poll(`after=${body.next}&waitMs=0`)).toMatchObject({ body: { items: [], next: body.next } });
  });

  it('waits for news and returns them', async () => {
    await order();
    const { body } = await poll('');
    const waiting = poll(`after=${body.next}&waitMs=20000`);
    await direct({ id: 'd1' });
    const answer = await waiting;
    expect(answer.body.items).toMatchObject([{ kind: 'directive', value: { id: 'd1' } }]);
    expect((await poll(`after=${answer.body.next}&waitMs=0`)).body.items).toEqual([]);
  });

  it('returns after the given time', async () => {
    await order();
    const { body } = await poll('');
    expect(await poll(`after=${body.next}&waitMs=1`)).toMatchObject({ status: 200, body: { items: [] } });
  });

  it('is ended by a server that drains', async () => {
    await order();
    const { body } = await poll('');
    const waiting = poll(`after=${body.next}&waitMs=20000`);
    protocol.gateway.platform.health.drain();
    expect((await waiting).body.items).toEqual([]);
  });

  it.each(['after=nonsense', 'waitMs=soon', 'waitMs=-1'])('refuses %s', async (query) => {
    expect((await poll(query)).status).toBe(400);
  });
});

describe('when one key takes all its places to listen', () => {
  it('further streams get 429, and other keys receive orders as before', async () => {
    const { next } = (await protocol.call('GET', '/v1/control/poll?agentId=bot')).body;
    const poll = () => protocol.call('GET', `/v1/control/poll?agentId=bot&after=${next}&waitMs=25000`);
    const waiting = Array.from({ length: 1_000 }, poll);
    await eventually(async () => expect((await poll()).status).toBe(429));
    expect((await connect()).status).toBe(429);
    const foreign = await connect('agentId=bot&instanceId=i2', undefined, protocol.gateway.keys.foreign);
    await foreign.until('ready');
    await protocol.gateway.bus.publish(controlOrdered, anOrder({ tenantId: 'globex' }));
    await foreign.until('order');
    await protocol.gateway.bus.publish(controlOrdered, anOrder({ scope: 'agent', scopeId: 'bot' }));
    expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
    expect((await connect()).status).toBe(200);
  });
});

/** The event that a listener got for its own connection. */
async function connectionOf(listener: ControlListener): Promise<{ readonly id: string; readonly secret: string }> {
  const [frame] = await listener.until('connection');
  return frame?.data;
}

describe('an acknowledgement', () => {
  const acknowledge = (id: string, agentId: string, instanceId: string) =>
    protocol.call('POST', `/v1/control/${id}/ack`, { agentId, instanceId });

  it('counts from an instance that listens for the agent of the order', async () => {
    const { id } = anOrder({ id: 'kill-bot', scope: 'agent', scopeId: 'bot' });
    const listener = await connect();
    await order({ id, scope: 'agent', scopeId: 'bot' });
    await listener.until('order');
    expect((await acknowledge(id, 'bot', 'i1')).status).toBe(200);
  });

  it('can be signed with the secret of the connection, and of no other', async () => {
    const [listener, other] = [await connect(), await connect('agentId=bot&instanceId=i2')];
    const [mine, theirs] = [await connectionOf(listener), await connectionOf(other)];
    const signed = (connection: { id: string; secret: string }, version = 1) => {
      const text = writeAcknowledgement({ directiveId: 'o1', agentId: 'bot', instanceId: 'i1', version });
      const mac = createHmac('sha256', Buffer.from(connection.secret, 'hex')).update(text).digest('hex');
      return { connection: connection.id, version: 1, mac };
    };
    const send = (signature: object) =>
      protocol.call('POST', '/v1/control/o1/ack', { agentId: 'bot', instanceId: 'i1', signature });

    expect((await send(signed(mine))).status).toBe(200);
    const refused = { status: 403, body: { code: 'bad_signature' } };
    expect(await send(signed(theirs))).toMatchObject(refused);
    expect(await send({ ...signed(theirs), connection: mine.id })).toMatchObject(refused);
    expect(await send(signed(mine, 2))).toMatchObject(refused);
    expect(await send({ ...signed(mine), connection: 'c1' })).toMatchObject(refused);
    expect((await send({ ...signed(mine), mac: 'x' })).status).toBe(400);
  });

  it('is signed with the secret that a poll answers, too', async () => {
    const { connection } = (await protocol.call('GET', '/v1/control/poll?agentId=bot&instanceId=i1')).body;
    const text = writeAcknowledgement({ directiveId: 'o1', agentId: 'bot', instanceId: 'i1', version: 4 });
    const mac = createHmac('sha256', Buffer.from(connection.secret, 'hex')).update(text).digest('hex');
    const signature = { connection: connection.id, version: 4, mac };
    const body = { agentId: 'bot', instanceId: 'i1', signature };
    expect((await protocol.call('POST', '/v1/control/o1/ack', body)).status).toBe(200);
  });

  it('is rejected from an instance that does not listen, or no longer does', async () => {
    expect(await acknowledge('o1', 'bot', 'i1')).toMatchObject({ status: 409, body: { code: 'not_listening' } });
    const listener = await connect();
    await listener.until('ready');
    expect((await acknowledge('o1', 'bot', 'i1')).status).toBe(200);
    await listener.close();
    await eventually(async () => expect((await acknowledge('o1', 'bot', 'i1')).status).toBe(409));
  });

  it.each([
    ['an agent', { scope: 'agent', scopeId: 'bot' }],
    ['a run', { scope: 'run', scopeId: 'run-1', agentId: 'bot' }],
  ] as const)('is rejected from an agent other than that of an order for %s', async (_, fields) => {
    const listener = await connect('agentId=other&instanceId=i2');
    await listener.until('ready');
    await order({ id: 'of-bot', ...fields });
    expect((await acknowledge('of-bot', 'other', 'i2')).status).toBe(404);
  });

  it('is rejected from an agent other than that of a directive', async () => {
    await connect('agentId=other&instanceId=i2').then((listener) => listener.until('ready'));
    await direct({ id: 'd-of-bot', agentId: 'bot' });
    expect((await acknowledge('d-of-bot', 'other', 'i2')).status).toBe(404);
  });
});

describe('under a key that is bound to agents', () => {
  const asBound = () => connect('agentId=bot&instanceId=i1', undefined, protocol.gateway.keys.bound);
  const receivedIds = async (listener: ControlListener) => {
    await order({ id: 'last', scope: 'agent', scopeId: 'bot' });
    await eventually(() => expect(idsOf(listener)).toContain('last'));
    return [...idsOf(listener)];
  };

  it('a stream has the orders of its own agents and of the tenant', async () => {
    await order({ id: 'standing-other', scopeId: 'run-8', agentId: 'other' });
    await order({ id: 'standing-own', scopeId: 'run-9', agentId: 'shop' });
    const listener = await asBound();
    await listener.until('ready');
    await order({ id: 'run-of-other', scopeId: 'run-1', agentId: 'other' });
    await order({ id: 'unknown-run', scopeId: 'run-2' });
    await order({ id: 'run-of-own', scopeId: 'run-3', agentId: 'bot' });
    await order({ id: 'of-tenant', scope: 'tenant', scopeId: 'acme' });
    expect(await receivedIds(listener)).toEqual(['standing-own', 'run-of-own', 'of-tenant', 'last']);
  });

  it('a stream has orders for an ancestor of one of its runs', async () => {
    await protocol.call('POST', '/v1/runs/parent/start', { agentId: 'other' });
    const start = { agentId: 'bot', parentRunId: 'parent' };
    // A key of both agents says that the child is one; the child's own key cannot.
    await protocol.call('POST', '/v1/runs/child/start', start);
    await protocol.call('POST', '/v1/runs/child/start', start, { key: protocol.gateway.keys.bound });
    const listener = await asBound();
    await listener.until('ready');
    await order({ id: 'of-parent', scopeId: 'parent', agentId: 'other' });
    expect(await receivedIds(listener)).toEqual(['of-parent', 'last']);
  });

  it('a poll has no orders for runs of other agents', async () => {
    await order({ id: 'run-of-other', scopeId: 'run-1', agentId: 'other' });
    const answer = await protocol.call('GET', '/v1/control/poll?agentId=bot', undefined, {
      key: protocol.gateway.keys.bound,
    });
    expect(answer.body.items).toEqual([]);
  });
});
