import { COMMANDS } from '@agentlens/contracts';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { assemblePlatform, createHttpApp, createLogger, loadConfig } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { QueryModule } from '../src/index.ts';

describe('a click in Slack', () => {
  let bus: EventBus;
  let app: NestFastifyApplication;
  beforeEach(async () => {
    bus = createMemoryBus();
    const platform = assemblePlatform({
      ...{ config: loadConfig('standalone', {}), bus, state: createMemoryState() },
      // Not read: the dispatcher checks clicks.
      databaseUrl: 'postgres://nobody@127.0.0.1:1/none',
      secretKeys: [Buffer.alloc(32).toString('base64')],
      logger: createLogger({ name: 'query', level: 'fatal' }),
    });
    app = await createHttpApp(platform, [QueryModule.register(platform)]);
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });
  afterEach(async () => {
    await app.close();
    await bus.close();
  });

  const click = () =>
    app.inject({
      ...{ method: 'POST', url: '/api/slack/acme/ops/interactivity', payload: 'payload=%7B%7D' },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });

  it('is answered without a result when it is taken', async () => {
    await bus.serve(COMMANDS.takeSlackClick, async () => ({ ok: true as const, value: { taken: true } }));
    const answer = await click();
    expect([answer.statusCode, answer.json()]).toEqual([200, {}]);
  });

  it('is an error, which Slack shows to the person, when no dispatcher runs', async () => {
    expect((await click()).statusCode).toBe(503);
  });

  it.each([401, 503])('is an error when the dispatcher refuses it with %s', async (status) => {
    await bus.serve(COMMANDS.takeSlackClick, async () => ({ ok: false as const, problem: { error: 'No', status } }));
    expect((await click()).statusCode).toBe(status);
  });

  it('is answered in time while the dispatcher is still at work, because it may count', async () => {
    const later = Promise.withResolvers<{ ok: true; value: { taken: boolean } }>();
    await bus.serve(COMMANDS.takeSlackClick, () => later.promise);
    expect((await click()).statusCode).toBe(200);
    later.resolve({ ok: true, value: { taken: true } });
  });
});
