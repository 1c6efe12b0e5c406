import { agentEvents, COMMANDS, guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { migrate } from '@agentlens/database';
import { createMemoryBus } from '@agentlens/messaging';
import { assemblePlatform, createHttpApp, createLogger, loadConfig, startApp } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { aBatch, anEvent, eventually, freshDatabase } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { GuardrailEvaluatorModule } from '../src/index.ts';

describe('GuardrailEvaluatorModule', () => {
  it('starts and stops with its application, on the memory adapters too', async () => {
    const fresh = await freshDatabase({ migrate });
    const platform = assemblePlatform({
      config: loadConfig('standalone', { DATABASE_URL: fresh.url }),
      bus: createMemoryBus(),
      state: createMemoryState(),
      databaseUrl: fresh.url,
      secretKeys: [Buffer.alloc(32, 9).toString('base64')],
      logger: createLogger({ name: 'test', level: 'silent' }),
    });
    const { bus } = platform;
    const triggers: Trigger[] = [];
    await bus.watch(guardrailTriggered, { from: 'new' }, ({ value }) => triggers.push(value));
    const application = await createHttpApp(platform, [GuardrailEvaluatorModule.register(platform)]);
    await startApp(application);

    const body = { name: 'Any error', conditionType: 'error_rate_threshold', actionType: 'pause_agent' };
    expect(await bus.request(COMMANDS.createRule, { tenantId: 'acme', body })).toMatchObject({ ok: true });
    await bus.publish(agentEvents, aBatch({ events: [anEvent({ isError: true, severity: 'error' })] }));
    await eventually(() => expect(triggers).toMatchObject([{ ruleName: 'Any error' }]));
    expect(await platform.health.report()).toMatchObject({
      ready: true,
      checks: { 'guardrail-evaluator': { ok: true, detail: { rules: 1 } } },
    });

    await application.close();
    await platform.close();
    await fresh.drop();
  });
});
