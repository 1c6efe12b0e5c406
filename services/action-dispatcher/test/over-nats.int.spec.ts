import {
  COMMANDS,
  type DeadLetter,
  type Directive,
  deadLetters,
  directiveIssued,
  guardrailTriggered,
} from '@agentlens/contracts';
import { connectNatsBus } from '@agentlens/messaging';
import {
  assemblePlatform,
  createHttpApp,
  createLogger,
  loadConfig,
  type Platform,
  startApp,
} from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import {
  aTrigger,
  eventually,
  type RecordingServer,
  recordingServer,
  startNats,
  type TestServer,
} from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { ActionDispatcherModule } from '../src/index.ts';
import { type Dispatching, dispatching, firedBy } from './dispatching.ts';

const GROUP = 'action-dispatcher';

describe('two replicas of the service over NATS', () => {
  let world: Dispatching;
  let nats: TestServer;
  let receiver: RecordingServer;
  const platforms: Platform[] = [];
  const applications: INestApplicationContext[] = [];

  beforeAll(async () => {
    [world, nats, receiver] = await Promise.all([dispatching(), startNats(), recordingServer()]);
    for (const name of ['one', 'two']) {
      const platform = assemblePlatform({
        config: loadConfig('standalone', { DATABASE_URL: world.url, AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32' }),
        bus: await connectNatsBus({ servers: nats.url, name }),
        state: createMemoryState(),
        databaseUrl: world.url,
        secretKeys: [Buffer.alloc(32, 7).toString('base64')],
        logger: createLogger({ name, level: 'silent' }),
      });
      platforms.push(platform);
      const application = await createHttpApp(platform, [ActionDispatcherModule.register(platform)]);
      await startApp(application);
      applications.push(application);
    }
  });
  afterAll(async () => {
    for (const application of applications) await application.close();
    for (const platform of platforms) await platform.close();
    await receiver.close();
    await nats.stop();
    await world.close();
  });

  const bus = () => {
    const [platform] = platforms;
    if (platform === undefined) throw new Error('no platform was opened');
    return platform.bus;
  };

  it('carry out each trigger once between them, even if it is published twice', async () => {
    const rule = await world.rule({
      actionType: 'notify_webhook',
      actionConfig: { url: `${receiver.url}/hook` },
      cooldownMinutes: 0,
    });
    const triggers = Array.from({ length: 30 }, () => aTrigger(firedBy(rule)));
    for (const trigger of [...triggers, ...triggers]) await bus().publish(guardrailTriggered, trigger);
    for (const trigger of triggers) await world.settled(trigger, 'success');
    expect(receiver.requests).toHaveLength(30);
  });

  it('move a trigger that can never be stored to the dead letters and continue', async () => {
    const letters: DeadLetter[] = [];
    const watch = await bus().watch(deadLetters, { from: 'new' }, ({ value }) => letters.push(value));
    const rule = await world.rule();
    const poison = aTrigger({ ...firedBy(rule), message: 'with a NUL \u0000 inside' });
    const good = aTrigger({ ...firedBy(rule), agentId: 'agent-2' });
    await bus().publish(guardrailTriggered, poison);
    await bus().publish(guardrailTriggered, good);
    await world.settled(good, 'success');
    await eventually(() => expect(letters).toMatchObject([{ group: GROUP, messageId: poison.id }]));
    expect(letters[0]?.reason).toBe('the trigger cannot be stored: SQLSTATE 22P05');
    expect(await world.history(poison)).toBeUndefined();
    await watch.close();
  });

  it('publish their directives and answer commands', async () => {
    const issued: Directive[] = [];
    const watch = await bus().watch(directiveIssued, { tenantId: 'acme' }, ({ value }) => issued.push(value));
    const trigger = aTrigger({ ...firedBy(await world.rule()), agentId: 'crew.lead' });
    await bus().publish(guardrailTriggered, trigger);
    await eventually(() =>
      expect(issued).toContainEqual(expect.objectContaining({ agentId: 'crew.lead', version: 1 })),
    );
    const order = { tenantId: 'acme', agentId: 'crew.lead', clearModelOverride: false };
    expect(await bus().request(COMMANDS.unpauseAgent, order)).toMatchObject({ ok: true, value: { version: 2 } });
    await eventually(() => expect(issued.at(-1)).toMatchObject({ agentId: 'crew.lead', version: 2, paused: null }));
    await watch.close();
  });

  it('are ready without any backlog', async () => {
    await eventually(async () => {
      const report = await platforms[0]?.health.report();
      expect(report).toMatchObject({ ready: true, checks: { triggers: { ok: true }, deliveries: { ok: true } } });
      expect(await bus().lag(guardrailTriggered, GROUP)).toMatchObject({ pending: 0, unacknowledged: 0 });
    });
  });
});
