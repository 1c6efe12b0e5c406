import { agentEvents, COMMANDS, type EventBatch } from '@agentlens/contracts';
import { ACK, connectNatsBus, createMemoryBus, type EventBus, type Received } from '@agentlens/messaging';
import { aBatch, eventually, startNats, type TestServer } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Catch, Controller, type DynamicModule, Inject, Module, UseFilters } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { pino } from 'pino';
import { of } from 'rxjs';
import { loadConfig } from '../config/config.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import { createHttpApp, startApp } from '../http/create-http-app.ts';
import type { Platform } from '../platform.ts';
import { Consumes, HandlesCommand } from './message-handlers.ts';

const NOT_FOUND = { ok: false, problem: { error: 'Not found', status: 404 } } as const;

class Missing extends Error {}

/** Scripts what the handlers do and records what they received. */
class Script {
  readonly batches: (readonly Received<EventBatch>[])[] = [];
  /** Awaited by each call of the topic's handler, with the number of the call. */
  onBatch: (call: number) => Promise<void> = async () => {};
  readonly ready = Promise.withResolvers<void>();
}

@Catch(Missing)
class MissingFilter {
  catch() {
    return of(NOT_FOUND);
  }
}

@Controller()
@UseFilters(MissingFilter)
class SampleController {
  constructor(@Inject(Script) private readonly script: Script) {}

  @HandlesCommand(COMMANDS.deleteRunActions)
  async delete({ runIds }: { tenantId: string; runIds: readonly string[] }) {
    if (runIds.includes('missing')) throw new Missing();
    if (runIds.includes('broken')) throw new RangeError('broken');
    return { ok: true, value: { ok: true } } as const;
  }

  @HandlesCommand(COMMANDS.eraseRunActions, { whenReady: (find) => find(Script).ready.promise })
  async erase() {
    return { ok: true, value: { ok: true } } as const;
  }

  @Consumes(agentEvents, { group: 'run-tracking', maxBatch: 10, ackWaitMs: 1_000 })
  async take(messages: readonly Received<EventBatch>[]) {
    this.script.batches.push(messages);
    await this.script.onBatch(this.script.batches.length);
    return messages.map(() => ACK);
  }
}

function moduleOf(script: Script): DynamicModule {
  @Module({ controllers: [SampleController], providers: [{ provide: Script, useValue: script }] })
  class SampleModule {}
  return { module: SampleModule };
}

describe.each(['memory', 'nats'] as const)('message handlers on the %s bus', (kind) => {
  let nats: TestServer | undefined;
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const buses: EventBus[] = [];
  let app: NestFastifyApplication;

  beforeAll(async () => {
    if (kind === 'nats') nats = await startNats();
  });
  afterEach(async () => {
    await app.close();
    for (const bus of buses.splice(0)) await bus.close();
    lines.length = 0;
  });
  afterAll(async () => nats?.stop());

  const open = async () => {
    const bus = nats ? await connectNatsBus({ servers: nats.url, name: 'spec', logger }) : createMemoryBus({ logger });
    buses.push(bus);
    return bus;
  };
  const start = async () => {
    const bus = await open();
    const script = new Script();
    const config = loadConfig('standalone', {});
    const platform = { config, logger, bus, health: new HealthRegistry() } as Partial<Platform> as Platform;
    app = await createHttpApp(platform, [moduleOf(script)]);
    await startApp(app);
    return { bus, script, asker: nats ? await open() : bus };
  };
  const order = (...runIds: string[]) => ({ tenantId: 'acme', runIds });
  /** A batch that no earlier test has published. */
  const fresh = () => aBatch({ id: crypto.randomUUID() });

  it('answers a command with the return value of its method', async () => {
    const { asker } = await start();
    expect(await asker.request(COMMANDS.deleteRunActions, order('run-1'))).toEqual({ ok: true, value: { ok: true } });
  });

  it('turns an error into an answer if a filter of the controller does so', async () => {
    const { asker } = await start();
    expect(await asker.request(COMMANDS.deleteRunActions, order('missing'))).toEqual(NOT_FOUND);
  });

  it('keeps the class and message of an error without a filter, for the log of its owner', async () => {
    const { asker } = await start();
    const answer = await asker.request(COMMANDS.deleteRunActions, order('broken'));
    expect(answer).toEqual({ ok: false, problem: { error: 'Internal error', status: 500 } });
    expect(lines.join('')).toContain('RangeError');
  });

  it('serves a command only when it is ready, and the others from the start', async () => {
    const { asker, script } = await start();
    const impatient = { ...COMMANDS.eraseRunActions, deadlineMs: 300 };
    await expect(asker.request(impatient, order('run-1'))).rejects.toThrow();
    expect(await asker.request(COMMANDS.deleteRunActions, order('run-1'))).toMatchObject({ ok: true });
    script.ready.resolve();
    await eventually(async () => expect(await asker.request(impatient, order('run-1'))).toMatchObject({ ok: true }));
  });

  it('redelivers a batch if its handler throws', async () => {
    const { bus, script } = await start();
    script.onBatch = async (call) => {
      if (call === 1) throw new Error('not now');
    };
    const batch = fresh();
    await bus.publish(agentEvents, batch);
    await eventually(() => expect(script.batches.length).toBeGreaterThan(1), { timeoutMs: 10_000 });
    expect(script.batches.at(-1)?.map(({ value }) => value.id)).toEqual([batch.id]);
    expect(script.batches.at(-1)?.[0]?.attempt).toBeGreaterThan(1);
  });

  it('delivers messages that arrived while the handler ran as one batch', async () => {
    const { bus, script } = await start();
    const gate = Promise.withResolvers<void>();
    script.onBatch = async (call) => {
      if (call === 1) await gate.promise;
    };
    const published = [bus.publish(agentEvents, fresh())];
    await eventually(() => expect(script.batches).toHaveLength(1));
    for (let n = 0; n < 3; n++) published.push(bus.publish(agentEvents, fresh()));
    await eventually(async () => {
      const { pending, unacknowledged } = await bus.lag(agentEvents, 'run-tracking');
      expect(pending + unacknowledged).toBe(4);
    });
    gate.resolve();
    await Promise.all(published);
    await eventually(() => expect(script.batches.flat()).toHaveLength(4));
    expect(script.batches.length).toBeLessThan(4);
  });

  it('waits for running handlers when the application closes, and acknowledges their messages', async () => {
    const { bus, asker, script } = await start();
    const gate = Promise.withResolvers<void>();
    script.onBatch = () => gate.promise;
    const published = bus.publish(agentEvents, fresh());
    await eventually(() => expect(script.batches).toHaveLength(1));
    let closed = false;
    const closing = app.close().then(() => {
      closed = true;
    });
    expect(await asker.lag(agentEvents, 'run-tracking')).toMatchObject({ unacknowledged: 1 });
    expect(closed).toBe(false);
    gate.resolve();
    await closing;
    await published;
    await eventually(async () =>
      expect(await bus.lag(agentEvents, 'run-tracking')).toMatchObject({ pending: 0, unacknowledged: 0 }),
    );
  });
});
