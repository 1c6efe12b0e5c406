import {
  type AgentEvent,
  agentEvents,
  COMMANDS,
  controlOrdered,
  type DecisionRequest,
  timeOrderedId,
} from '@agentlens/contracts';
import { each } from '@agentlens/messaging';
import {
  createHttpApp,
  createLogger,
  ensureBootstrapKey,
  loadConfig,
  openPlatform,
  type Platform,
} from '@agentlens/platform';
import {
  eventually,
  type FreshDatabase,
  freshDatabase,
  HandlebarClient,
  startNats,
  startRedis,
  type TestServer,
} from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { IngestModule } from '../src/index.ts';
import { allowing } from './agent-protocol.ts';

interface Instance {
  readonly platform: Platform;
  readonly app: NestFastifyApplication;
  readonly address: string;
}

/** A client of an earlier release, with only address and key changed, on two gateways over real servers. */
describe('the agent protocol on real servers', () => {
  let nats: TestServer;
  let redis: TestServer;
  let database: FreshDatabase;
  let instances: Instance[];
  let apiKey: string;
  const stored: AgentEvent[] = [];
  const asked: DecisionRequest[] = [];

  async function startInstance(): Promise<Instance> {
    const config = loadConfig('ingest', {
      NATS_URL: nats.url,
      REDIS_URL: redis.url,
      DATABASE_URL: database.url,
      AGENTLENS_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      AGENTLENS_MIGRATE: 'true',
    });
    const platform = await openPlatform(config, createLogger({ name: 'ingest', level: 'fatal' }));
    const app = await createHttpApp(platform, [IngestModule.register(platform)]);
    await app.listen(0, '127.0.0.1');
    return { platform, app, address: await app.getUrl() };
  }

  beforeAll(async () => {
    [nats, redis, database] = await Promise.all([startNats(), startRedis(), freshDatabase()]);
    instances = [await startInstance(), await startInstance()];
    const [{ platform }] = instances as [Instance];
    apiKey = (await ensureBootstrapKey(platform)) ?? '';
    await platform.bus.consume(
      agentEvents,
      { group: 'recorder' },
      each(async ({ value }) => {
        stored.push(...value.events);
        return { kind: 'ack' };
      }),
    );
    await platform.bus.serve(COMMANDS.decide, async (request) => {
      asked.push(request);
      return { ok: true as const, value: allowing(request) };
    });
  });

  afterAll(async () => {
    for (const { app, platform } of instances) {
      await app.close();
      await platform.close();
    }
    await Promise.all([nats.stop(), redis.stop(), database.drop()]);
  });

  const clientOn = (index: number) =>
    new HandlebarClient({
      endpoint: instances[index]?.address ?? '',
      apiKey,
      agent: { slug: 'field-agent', name: 'Field agent' },
      tools: [{ name: 'search', tags: ['read'] }],
      retryBaseMs: 5,
    });
  const of = (runId: string) => stored.filter((event) => event.runId === runId);
  /** Identifies events by time and id, like every store does. */
  const kindsOf = (runId: string) =>
    [...new Map(of(runId).map((event) => [`${event.occurredAt}/${event.id}`, event.kind])).values()].toSorted();

  async function aRunOn(client: HandlebarClient): Promise<string> {
    const runId = timeOrderedId(Date.now());
    const run = await client.startRun({
      runId,
      sessionId: 's1',
      actor: { externalId: 'user-1' },
      model: { name: 'gpt-4o' },
    });
    run.beforeLlm([{ role: 'user', content: 'find it' }]);
    run.afterLlm({ name: 'gpt-4o', provider: 'openai' }, { in: 100, out: 20 });
    for (const name of ['search', 'mail']) {
      expect(await run.beforeTool(name, { q: name })).toMatchObject({ verdict: 'ALLOW', control: 'CONTINUE' });
      await run.afterTool(
        name,
        { q: name },
        { found: 1 },
        5,
        name === 'mail' ? new Error('no such address') : undefined,
      );
    }
    await run.end('success');
    return runId;
  }

  it('makes the expected calls in the expected order, and counts each fact once', async () => {
    const client = clientOn(0);
    await client.init();
    expect(client.agentId).toBe('field-agent');
    const runId = await aRunOn(client);
    expect(client.calls.map(({ path, status }) => `${path.replace(runId, 'R')} ${status}`)).toEqual([
      '/v1/agents 200',
      '/v1/runs/R/start 200',
      ...Array.from({ length: 4 }, () => '/v1/runs/R/evaluate 200'),
      '/v1/runs/R/end 200',
      '/v1/runs/events 200',
    ]);
    const expected = [
      'llm.completed',
      'message.created',
      'run.ended',
      'run.started',
      'tool.completed',
      'tool.completed',
      'tool.decided',
      'tool.decided',
    ];
    await eventually(() => expect(kindsOf(runId)).toEqual(expected));
    expect(of(runId).find(({ kind }) => kind === 'llm.completed')?.usage).toMatchObject({ costSource: 'priced' });
    const questions = asked.filter((question) => question.runId === runId);
    expect(questions.map(({ metrics }) => metrics.llm_tokens_in)).toEqual([100, undefined, undefined, undefined]);
  });

  it('recognises a repeated start, end and batch on either instance', async () => {
    const [one, two] = [clientOn(0), clientOn(1)];
    await Promise.all([one.init(), two.init()]);
    const runId = 'kinds-twice';
    const ts = new Date().toISOString();
    const events = Array.from({ length: 130 }, (_, stepIndex) => ({
      schema: 'handlebar.audit.v1',
      ts,
      runId,
      stepIndex,
      kind: 'tool.result',
      data: { tool: { name: 'search' }, outcome: 'success' },
    }));
    for (const client of [one, two, one]) {
      await client.startRun({ runId });
      for (const event of events) client.emit(event);
      await Promise.all([client.flush(), client.endRun(runId, 'success')]);
    }
    expect([...one.calls, ...two.calls].every(({ status }) => status === 200)).toBe(true);
    // 130 results, one start, one end; published up to three times each.
    await eventually(() => expect(of(runId).length).toBeGreaterThanOrEqual(3 * 130));
    expect(kindsOf(runId)).toHaveLength(132);
  });

  it('knows orders on every instance, and earlier orders on a new one', async () => {
    const [one, two] = instances as [Instance, Instance];
    const issued_at = new Date().toISOString();
    const order = {
      tenant_id: 'default',
      scope: 'run',
      state: 'killed',
      reason: 'runaway',
      ordered_by: 'ops',
    } as const;
    const dispatcher = one.platform.database('action-dispatcher').db;
    await dispatcher
      .insertInto('control_orders')
      .values({ ...order, scope_id: 'stored-run', order_id: 'stored-order', version: 1, issued_at })
      .execute();
    await dispatcher
      .insertInto('agent_directives')
      .values({
        tenant_id: 'default',
        agent_id: 'stored-agent',
        directive_id: 'stored-directive',
        version: 2,
        paused_at: issued_at,
        pause_reason: 'too many errors',
        model_override: 'small',
        model_override_at: issued_at,
        issued_at,
      })
      .execute();
    const lockdownOf = async ({ app }: Instance, runId: string, agentId: string) => {
      const headers = { authorization: `Bearer ${apiKey}` };
      const answer = await app.inject({
        method: 'POST',
        url: `/v1/runs/${runId}/start`,
        headers,
        payload: { agentId },
      });
      return JSON.parse(answer.body);
    };
    const late = await startInstance();
    instances.push(late);
    expect(await lockdownOf(late, 'stored-run', 'bot')).toMatchObject({
      lockdown: { active: true, kind: 'killed', reason: 'runaway', lockdownId: 'stored-order' },
    });
    expect(await lockdownOf(late, 'any-run', 'stored-agent')).toMatchObject({
      lockdown: { active: true, kind: 'paused', reason: 'too many errors' },
      modelOverride: 'small',
    });
    await two.platform.bus.publish(controlOrdered, {
      id: 'live-order',
      tenantId: 'default',
      scope: 'run',
      scopeId: 'live-run',
      state: 'killed',
      reason: 'runaway',
      by: 'ops',
      version: 1,
      issuedAt: issued_at,
    });
    for (const instance of instances) {
      await eventually(async () => {
        expect(await lockdownOf(instance, 'live-run', 'bot')).toMatchObject({ lockdown: { lockdownId: 'live-order' } });
      });
    }
  });

  it('works without Redis: runs start and end, questions are answered, events are accepted', async () => {
    const client = clientOn(0);
    await client.init();
    await redis.kill();
    try {
      const runId = await aRunOn(client);
      expect(client.calls.every(({ status }) => status === 200)).toBe(true);
      await eventually(() => expect(new Set(kindsOf(runId)).size).toBe(6));
    } finally {
      await redis.start();
    }
  });

  it('answers by the fail mode while NATS is unavailable, and accepts the same events when it is back', async () => {
    const client = clientOn(1);
    await client.init();
    const runId = timeOrderedId(Date.now());
    const run = await client.startRun({ runId });
    await nats.kill();
    expect(await run.beforeTool('search', { q: 1 })).toMatchObject({ verdict: 'ALLOW', evaluatedRules: [] });
    await nats.start();
    await eventually(
      async () => {
        const probe = clientOn(1);
        await probe.init();
        expect(probe.agentId).toBe('field-agent');
      },
      { timeoutMs: 30_000 },
    );
    await run.end('interrupted');
    // The record of the bypass may have survived the outage.
    const kinds = () => kindsOf(runId).filter((kind) => kind !== 'custom.recorded');
    await eventually(() => expect(kinds()).toEqual(['run.ended', 'run.started', 'tool.decided']));
    expect(of(runId).find(({ kind }) => kind === 'run.ended')?.outcome).toBe('interrupted');
  });
});
