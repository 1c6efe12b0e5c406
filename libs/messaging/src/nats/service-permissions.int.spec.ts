import { readFile } from 'node:fs/promises';
import { agentEvents, BUS_ACCESS, type BusAccess, COMMANDS, CONSUMERS, type Topic } from '@agentlens/contracts';
import { aBatch, eventually, startNats, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { ACK, type BatchHandler, type EventBus } from '../event-bus.ts';
import { connectNatsBus } from './connect-nats-bus.ts';

type Service = keyof typeof BUS_ACCESS;
const SERVICES = Object.keys(BUS_ACCESS) as Service[];
const PASSWORD = 'secret';

describe('service users in deploy/nats/server.conf', () => {
  let server: TestServer;
  let buses: Record<Service, EventBus>;
  let ingest: NatsConnection;

  beforeAll(async () => {
    const file = await readFile(new URL('../../../../deploy/nats/server.conf', import.meta.url), 'utf8');
    const accounts = file.slice(file.indexOf('\naccounts {')).replaceAll('$NATS_PLATFORM_USER', 'platform');
    server = await startNats({ config: accounts.replace(/\$NATS_\w+_PASSWORD/g, PASSWORD) });
    const open = (user: string) =>
      connectNatsBus({ servers: server.url, user, password: PASSWORD, name: `agentlens-${user}` });
    // The platform user creates the streams.
    await (await open('platform')).close();
    const opened = await Promise.all(SERVICES.map(async (name) => [name, await open(name)] as const));
    buses = Object.fromEntries(opened) as Record<Service, EventBus>;
    ingest = await connect({ servers: server.url, user: 'ingest', pass: PASSWORD });
  });

  afterAll(async () => {
    await Promise.all(Object.values(buses ?? {}).map((bus) => bus.close()));
    await ingest?.close();
    await server?.stop();
  });

  it('deliver events from the gateway to its consumers', async () => {
    const seen: string[] = [];
    for (const group of ['run-tracking', 'guardrail-evaluator'] as const) {
      await buses[group].consume(agentEvents, { group }, async (messages) => {
        seen.push(group);
        return messages.map(() => ACK);
      });
    }
    await buses.query.watch(agentEvents, { from: 'new' }, () => seen.push('query'));
    await buses.ingest.publish(agentEvents, aBatch());
    await eventually(() => expect(seen.sort()).toEqual(['guardrail-evaluator', 'query', 'run-tracking']));
    await eventually(async () => {
      expect(await buses.ingest.lag(agentEvents, 'guardrail-evaluator')).toMatchObject({
        unacknowledged: 0,
        pending: 0,
      });
    });
    const { envelopes } = await buses['run-tracking'].envelopes(agentEvents, 0, 10);
    expect(envelopes).toHaveLength(1);
  });

  it('let every service read its topics', async () => {
    for (const service of SERVICES) {
      const { reads }: BusAccess = BUS_ACCESS[service];
      for (const topic of reads) await (await buses[service].watch(topic as never, { from: 'last' }, () => {})).close();
    }
  });

  it('let a consumer store dead letters, and query read them and the lag of every group', async () => {
    const refuse: BatchHandler<unknown> = async (messages) =>
      messages.map(() => ({ kind: 'poison', reason: 'cannot be stored' }));
    await buses['run-tracking'].consume(agentEvents, { group: 'refusing' }, refuse);
    await buses.ingest.publish(agentEvents, aBatch());
    await eventually(async () => {
      const page = await buses.query.deadLetterPage({ tenantId: 'acme', after: 0, limit: 10 });
      expect(page.letters.map(({ value }) => value.group)).toContain('refusing');
    });
    for (const { topic, group } of CONSUMERS) {
      expect(await buses.query.lag(topic as Topic<unknown>, group)).toHaveProperty('pending');
    }
  });

  it('let services send and answer their commands', async () => {
    await buses['action-dispatcher'].serve(COMMANDS.redeliver, async ({ deliveryId }) => ({
      ok: true as const,
      value: { deliveryId },
    }));
    const answer = await buses.query.request(COMMANDS.redeliver, { tenantId: 'acme', deliveryId: 'd' });
    expect(answer).toEqual({ ok: true, value: { deliveryId: 'd' } });
  });

  it.each([
    'guardrail.triggered.acme.rule-1',
    'control.order.acme.tenant.acme',
    'control.keys.acme.key',
    'action.alerts.decide',
    '$JS.API.STREAM.DELETE.AGENT_EVENTS',
    '$JS.API.STREAM.PURGE.AGENT_EVENTS',
    '$JS.API.STREAM.UPDATE.AGENT_EVENTS',
    '$JS.API.STREAM.MSG.GET.DECISIONS',
    '$JS.API.CONSUMER.CREATE.DECISIONS.x',
    '$JS.API.CONSUMER.MSG.NEXT.DECISIONS.run-tracking-decisions',
  ])('do not let the gateway publish to %s', async (subject) => {
    const refused = (async () => {
      for await (const change of ingest.status()) if (change.type === 'error') return change.error.message;
      return 'closed';
    })();
    ingest.publish(subject, '{}');
    expect(await refused).toMatch(/permissions violation.*publish/i);
  });

  it.each([
    '>',
    '_INBOX.>',
    '_INBOX.agentlens-query.>',
    'agent.events.>',
    'guardrail.decide',
    '$JS.API.>',
    '$JS.ACK.>',
  ])('do not let the gateway subscribe to %s', async (subject) => {
    const refusal = new Promise<string>((resolve, reject) => {
      ingest.subscribe(subject, {
        callback: (error) => (error ? resolve(error.message) : reject(new Error(`${subject} was delivered`))),
      });
    });
    expect(await refusal).toMatch(/permissions violation/i);
  });
});
