import { guardrailTriggered, rulesChanged, runChanged, STREAMS } from '@agentlens/contracts';
import { aTrigger, eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { gate, recorder } from '../contract/harness.contract.ts';
import { ACK, BusUnavailable, NO_LAG, SILENT } from '../event-bus.ts';
import { ORIGINAL_ID } from '../publish/encoded-message.ts';
import { applyStreams } from './apply-streams.ts';
import { connectNatsBus } from './connect-nats-bus.ts';
import { natsPerTest } from './nats-per-test.testing.ts';

const at = '2026-03-01T12:00:00.000Z';

describe('NATS bus under faults', () => {
  const { server, open, proxied, connection, manager } = natsPerTest();

  it('rejects publishes while the broker is unreachable and recovers when it is back', async () => {
    const bus = await open();
    const group = recorder();
    const screen: string[] = [];
    const versions: string[] = [];
    const runs: string[] = [];
    await bus.consume(guardrailTriggered, { group: 'resuming' }, group.handler);
    await bus.watch(guardrailTriggered, {}, ({ value }) => screen.push(value.id));
    await bus.watch(rulesChanged, { from: 'last' }, ({ value }) => versions.push(value.version));
    await bus.watch(runChanged, {}, ({ value }) => runs.push(...value.runIds));
    const [before, after] = [aTrigger(), aTrigger()];
    await bus.publish(guardrailTriggered, before);
    await eventually(() => expect([group.ids(), screen]).toEqual([[before.id], [before.id]]));

    await server().kill();
    await eventually(() => expect(bus.healthy()).toBe(false));
    const refused = bus.publish(guardrailTriggered, after);
    await expect(refused).rejects.toBeInstanceOf(BusUnavailable);
    await expect(bus.publish(runChanged, { tenantId: 'acme', runIds: ['lost'], at })).resolves.toBeDefined();

    await server().start();
    await eventually(() => expect(bus.healthy()).toBe(true));
    await bus.publish(guardrailTriggered, after);
    await bus.publish(rulesChanged, { tenantId: 'acme', version: 'v1', at });
    await eventually(() => expect(group.ids()).toEqual([before.id, after.id]));
    await eventually(() => expect(screen).toEqual([before.id, after.id]));
    await eventually(() => expect(versions).toEqual(['v1']));
    await bus.publish(runChanged, { tenantId: 'acme', runIds: ['run-1'], at });
    await eventually(() => expect(runs).toEqual(['run-1']));
  });

  it('detects a half-open connection', async () => {
    const proxy = await proxied();
    const bus = await open(proxy.url);
    const elsewhere = await open();
    const group = recorder();
    const screen: string[] = [];
    await bus.consume(guardrailTriggered, { group: 'half' }, group.handler);
    await bus.watch(guardrailTriggered, {}, ({ value }) => screen.push(value.id));
    proxy.mode('half-open');
    const [missed, next] = [aTrigger(), aTrigger()];
    await elsewhere.publish(guardrailTriggered, missed);
    await eventually(() => expect(group.ids()).toContain(missed.id));
    await eventually(() => expect(screen).toContain(missed.id));
    await bus.publish(guardrailTriggered, next);
    await eventually(() => expect(group.ids()).toContain(next.id));
  });

  it('delivers to a watch what was sent on a dead connection, as soon as there is a new one', async () => {
    const proxy = await proxied();
    const bus = await open(proxy.url);
    const elsewhere = await open();
    const versions: string[] = [];
    const watch = await bus.watch(rulesChanged, { from: 'last' }, ({ value }) => versions.push(value.version));
    await eventually(() => expect(watch.silentMs).toBeLessThan(1_000));
    proxy.mode('blackhole');
    await elsewhere.publish(rulesChanged, { tenantId: 'acme', version: 'v1', at });
    await eventually(() => expect(bus.healthy()).toBe(false));
    expect(watch.silentMs).toBeGreaterThan(1_000);
    proxy.mode('pass');
    // Nothing is published afterwards, so that no gap in the numbers of messages shows the loss.
    await eventually(() => expect(watch.silentMs).toBeLessThan(1_000));
    expect(versions).toEqual(['v1']);
  });

  it('rejects pending publishes when the connection is lost', async () => {
    const proxy = await proxied();
    const bus = await open(proxy.url, { publishTimeoutMs: 600_000 });
    proxy.mode('half-open');
    const trigger = aTrigger();
    await expect(bus.publish(guardrailTriggered, trigger)).rejects.toBeInstanceOf(BusUnavailable);
    await eventually(() => expect(bus.healthy()).toBe(true));
    await bus.publish(guardrailTriggered, trigger);
  });

  it('redelivers the messages of a dead replica to another', async () => {
    const proxy = await proxied();
    const dying = await open(proxy.url);
    const other = await open();
    const never = gate();
    const stuck = recorder(async () => {
      await never.opened;
      return ACK;
    });
    await dying.consume(guardrailTriggered, { group: 'dying', ackWaitMs: 1_000 }, stuck.handler);
    const trigger = aTrigger();
    await other.publish(guardrailTriggered, trigger);
    await eventually(() => expect(stuck.ids()).toEqual([trigger.id]));
    proxy.mode('blackhole');
    const heir = recorder();
    await other.consume(guardrailTriggered, { group: 'dying', ackWaitMs: 1_000 }, heir.handler);
    await eventually(() => expect(heir.ids()).toEqual([trigger.id]));
    expect(heir.seen[0]?.attempt).toBeGreaterThan(1);
    never.open();
  });

  it('keeps messages, running and waiting, while a handler runs longer than the ack wait', async () => {
    // A slow machine may stall for half of it; a shorter wait would make the test flaky.
    const ackWaitMs = 2_000;
    const bus = await open();
    const other = await open();
    const group = recorder(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2.4 * ackWaitMs));
      return ACK;
    });
    const idle = recorder();
    const options = { group: 'long', ackWaitMs };
    await bus.consume(guardrailTriggered, options, group.handler);
    const triggers = [aTrigger(), aTrigger()];
    for (const trigger of triggers) await bus.publish(guardrailTriggered, trigger);
    await eventually(async () => expect((await bus.lag(guardrailTriggered, 'long')).unacknowledged).toBe(2));
    await other.consume(guardrailTriggered, options, idle.handler);
    await eventually(async () => expect(await bus.lag(guardrailTriggered, 'long')).toEqual(NO_LAG));
    expect(group.seen.map((message) => [message.messageId, message.attempt])).toEqual(
      triggers.map(({ id }) => [id, 1]),
    );
    expect(idle.seen).toEqual([]);
  });

  it('keeps the message if its dead letter cannot be stored', async () => {
    const bus = await open(server().url, { backOffMs: [5] });
    const api = await manager();
    await api.streams.delete('DEAD_LETTERS');
    const group = recorder(() => ({ kind: 'poison', reason: 'never' }));
    await bus.consume(guardrailTriggered, { group: 'careful' }, group.handler);
    const trigger = aTrigger();
    await bus.publish(guardrailTriggered, trigger);
    await eventually(() => expect(group.seen.length).toBeGreaterThan(1));
    await applyStreams(api, SILENT);
    await eventually(async () =>
      expect((await bus.deadLetters()).map((letter) => letter.messageId)).toEqual([trigger.id]),
    );
    await eventually(async () => expect(await bus.lag(guardrailTriggered, 'careful')).toEqual(NO_LAG));
  });

  it('rejects publishes to a full stream', async () => {
    const api = await manager();
    await applyStreams(api, SILENT, { streams: [{ ...STREAMS.GUARDRAILS, maxBytes: 4_096 }] });
    const bus = await open(server().url, { applyStreams: false });
    const fill = async () => {
      for (let i = 0; i < 20; i += 1) await bus.publish(guardrailTriggered, aTrigger());
    };
    await expect(fill()).rejects.toMatchObject({ name: 'BusUnavailable', afterMs: 5_000 });
  });

  it('does not report a message that is too large as retryable', async () => {
    const bus = await open();
    const huge = bus.publish(guardrailTriggered, aTrigger({ message: 'x'.repeat(9_000_000) }));
    await expect(huge).rejects.toThrow(/max_payload/);
    await expect(huge).rejects.not.toBeInstanceOf(BusUnavailable);
  });

  it('does not report a duplicate as stored while the original is not safe', async () => {
    const leader = await connection();
    const bus = await open(server().url, { applyStreams: false });
    const trigger = aTrigger();
    const stored: { readonly body: string; readonly id: string }[] = [];
    // Like a 2.10 leader that has received the message before and cannot reach its followers.
    leader.subscribe(guardrailTriggered.pattern(), {
      callback: (_error, message) => {
        const repeated = message.headers?.has('Nats-Msg-Id');
        if (!repeated) stored.push({ body: message.string(), id: message.headers?.get(ORIGINAL_ID) ?? '' });
        const answer = repeated ? { seq: 0, duplicate: true } : { seq: 7 };
        message.respond(JSON.stringify({ stream: 'GUARDRAIL_TRIGGERS', ...answer }));
      },
    });
    await leader.flush();
    expect(await bus.publish(guardrailTriggered, trigger)).toEqual({ sequence: 7, duplicate: false });
    expect(stored).toEqual([{ body: JSON.stringify(trigger), id: guardrailTriggered.messageId(trigger) }]);
  });

  it('recreates its durable consumer after it was deleted', async () => {
    const bus = await open();
    const group = recorder();
    await bus.consume(guardrailTriggered, { group: 'deleted' }, group.handler);
    const trigger = aTrigger();
    await (await manager()).consumers.delete('GUARDRAILS', 'deleted');
    await bus.publish(guardrailTriggered, trigger);
    await eventually(() => expect(group.ids()).toEqual([trigger.id]));
  });

  it('loses no acknowledged message when the broker is killed', async () => {
    const bus = await open();
    const other = await open();
    const group = recorder();
    for (const replica of [bus, other]) {
      await replica.consume(guardrailTriggered, { group: 'auditor', maxBatch: 10, ackWaitMs: 1_000 }, group.handler);
    }
    const accepted = new Set<string>();
    const publishAll = async () => {
      for (let i = 0; i < 200; i += 1) {
        const trigger = aTrigger();
        while (!accepted.has(trigger.id)) {
          try {
            await bus.publish(guardrailTriggered, trigger);
            accepted.add(trigger.id);
          } catch (error) {
            if (!(error instanceof BusUnavailable)) throw error;
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }
      }
    };
    const publishing = publishAll();
    for (const share of [50, 120]) {
      await eventually(() => expect(accepted.size).toBeGreaterThan(share));
      await server().kill();
      await server().start();
    }
    await publishing;
    await eventually(() => expect(new Set(group.ids())).toEqual(accepted));
    await eventually(async () => expect(await bus.lag(guardrailTriggered, 'auditor')).toEqual(NO_LAG));
  });

  it('closes while the broker is unreachable', async () => {
    const bus = await open();
    await bus.consume(guardrailTriggered, { group: 'closing' }, recorder().handler);
    await bus.watch(guardrailTriggered, {}, () => undefined);
    await bus.watch(runChanged, {}, () => undefined);
    await server().kill();
    await eventually(() => expect(bus.healthy()).toBe(false));
    await bus.close();
    await expect(bus.publish(guardrailTriggered, aTrigger())).rejects.toBeInstanceOf(BusUnavailable);
    await server().start();
  });

  it('reports that no server answers', async () => {
    await server().kill();
    const attempt = connectNatsBus({ servers: server().url, name: 'spec', connectTimeoutMs: 1 });
    await expect(attempt).rejects.toBeInstanceOf(BusUnavailable);
    await server().start();
  });
});
