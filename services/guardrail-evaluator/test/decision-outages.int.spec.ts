import { type Alert, COMMANDS, type Decision, decisionDecided, type GuardrailRule } from '@agentlens/contracts';
import { migrate, openDatabase } from '@agentlens/database';
import type { CallHistory } from '@agentlens/guardrails';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { AesSecretBox, createLogger, HealthRegistry } from '@agentlens/platform';
import { connectRedisState } from '@agentlens/state';
import { eventually, freshDatabase, startRedis, type TcpProxy, tcpProxy } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EvaluatorPorts } from '../src/wire.ts';
import { anAlert, ask, replyValue } from './asking.ts';
import { startEvaluator } from './start-evaluator.ts';

const closing: (() => Promise<unknown>)[] = [];
let bus: EventBus;
let redis: TcpProxy;
let postgres: TcpProxy;
const published: Decision[] = [];
const rules: Record<string, GuardrailRule> = {};
let approval: Alert | 'hangs' = anAlert();
const approvalQuestions: unknown[] = [];
const end = Promise.withResolvers<Alert>();
let storeAsked = 0;

const makeRule = (body: object) => replyValue(bus.request(COMMANDS.createRule, { tenantId: 'acme', body }));
const countsCalls = (name: string, tool: string, onUnavailable: 'allow' | 'block') =>
  makeRule({
    ...{ name, onUnavailable, actionType: 'block', conditionType: 'max_calls' },
    ...{ conditionConfig: { tools: [tool], max: 100 }, selector: { tools: [tool] } },
  });

beforeAll(async () => {
  const server = await startRedis();
  const fresh = await freshDatabase({ migrate });
  redis = await tcpProxy(server.url);
  postgres = await tcpProxy(fresh.url);
  const state = await connectRedisState({ url: redis.url });
  const database = openDatabase({ url: postgres.url, role: 'guardrail-evaluator', maxConnections: 3 });
  bus = createMemoryBus({ backOffMs: [20] });
  const ports: EvaluatorPorts = {
    ...{ bus, database, clock: Date, egressPolicy: { allow: [] } },
    ...{ windows: state.windows, cooldowns: state.cooldowns, calls: counted(state.calls) },
    ...{ breakers: state.breakers, budgets: state.budgets, labels: state.labels },
    control: { stateOf: () => ({ kind: 'none', modelOverride: null }) },
    secrets: new AesSecretBox([Buffer.alloc(32, 5).toString('base64')]),
    logger: createLogger({ name: 'test', level: 'silent' }),
    health: new HealthRegistry(),
  };
  await bus.watch(decisionDecided, { from: 'new' }, ({ value }) => published.push(value));
  await bus.serve(COMMANDS.resolveApproval, async (question) => {
    approvalQuestions.push(question);
    return {
      ok: true as const,
      value: approval === 'hangs' ? await end.promise : { ...approval, approval: question.binding },
    };
  });
  const evaluator = await startEvaluator(ports);
  closing.push(
    () => evaluator.stop(),
    () => bus.close(),
    () => state.close(),
    () => database.close(),
    () => redis.close(),
    () => postgres.close(),
    () => server.stop(),
    () => fresh.drop(),
  );
  rules.open = await countsCalls('Open', 'open', 'allow');
  rules.shut = await countsCalls('Shut', 'shut', 'block');
  rules.stateless = await makeRule({
    ...{ name: 'Never', actionType: 'block', conditionType: 'tool_name' },
    conditionConfig: { operator: 'eq', value: 'forbidden' },
  });
  for (const onUnavailable of ['allow', 'block']) {
    await makeRule({
      ...{ name: `Flow, else ${onUnavailable}`, actionType: 'block', onUnavailable },
      ...{ conditionType: 'data_flow', selector: { tools: [`send-${onUnavailable}`] } },
      conditionConfig: { after: [{ tools: [`read-${onUnavailable}`] }], label: onUnavailable },
    });
    const budget = { name: onUnavailable, scope: 'agent', scopeId: onUnavailable, period: 'day', limitUsd: 1 };
    await replyValue(bus.request(COMMANDS.createBudget, { tenantId: 'acme', body: { ...budget, onUnavailable } }));
    await makeRule({
      ...{ name: `Ask, else ${onUnavailable}`, actionType: 'require_approval', onUnavailable },
      ...{ conditionType: 'tool_name', conditionConfig: { operator: 'eq', value: `ask-${onUnavailable}` } },
    });
  }
});
afterAll(async () => {
  end.resolve(anAlert());
  for (const close of closing) await close();
});

/** The same history with a count of its requests. */
function counted(calls: CallHistory): CallHistory {
  const asked = <T>(answer: Promise<T>) => {
    storeAsked += 1;
    return answer;
  };
  return {
    enter: (...call) => asked(calls.enter(...call)),
    settle: (...call) => asked(calls.settle(...call)),
    complete: (...call) => asked(calls.complete(...call)),
    read: (...call) => asked(calls.read(...call)),
  };
}

const calling = (name: string, fields: object = {}) =>
  ask(bus, { tool: { name, tags: [] }, deadlineMs: 150, ...fields });

describe('while Redis does not answer', () => {
  beforeAll(() => {
    redis.mode('blackhole');
    redis.reset();
  });
  afterAll(async () => {
    redis.mode('pass');
    redis.reset();
    await eventually(async () => expect((await calling('open')).bypasses).toEqual([]), { timeoutMs: 20_000 });
  });

  it('applies each rule’s setting within the deadline and reports the bypass', async () => {
    const startedAt = performance.now();
    const [open, shut, forbidden] = await Promise.all([calling('open'), calling('shut'), calling('forbidden')]);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    const why = expect.stringMatching(/deadline|unavailable/);
    expect(open).toMatchObject({
      verdict: 'ALLOW',
      bypasses: expect.arrayContaining([{ ruleId: rules.open?.id, why, did: 'allow' }]),
    });
    expect(shut).toMatchObject({
      verdict: 'BLOCK',
      bypasses: expect.arrayContaining([{ ruleId: rules.shut?.id, why, did: 'block' }]),
    });
    expect(forbidden).toMatchObject({ verdict: 'BLOCK', cause: { ruleId: rules.stateless?.id } });
    expect(forbidden.bypasses).toEqual([{ ruleId: 'circuit_breaker', why, did: 'allow' }]);
    await eventually(() => expect(published.map(({ id }) => id)).toEqual(expect.arrayContaining([open.id, shut.id])));
  });

  it('blocks sources and sinks of data flows whose labels are lost, if the rule says so', async () => {
    for (const [tool, verdict] of [
      ['read-block', 'BLOCK'],
      ['send-block', 'BLOCK'],
      ['read-allow', 'ALLOW'],
      ['send-allow', 'ALLOW'],
    ] as const) {
      const { verdict: answered, bypasses } = await calling(tool);
      const did = verdict === 'BLOCK' ? 'block' : 'allow';
      const why = expect.stringMatching(/deadline|unavailable/);
      expect({ answered, bypasses }).toEqual({
        ...{ answered: verdict },
        bypasses: expect.arrayContaining([expect.objectContaining({ why, did })]),
      });
    }
  });

  it('answers at once when Redis is known to be unavailable', async () => {
    for (let i = 0; i < 3; i++) await calling('shut');
    const before = storeAsked;
    const answers = await Promise.all(Array.from({ length: 50 }, () => calling('shut', { deadlineMs: 2_000 })));
    expect(storeAsked).toBe(before);
    for (const { verdict, bypasses } of answers) {
      expect(verdict).toBe('BLOCK');
      expect(bypasses).toContainEqual({ ruleId: rules.shut?.id, why: 'unavailable', did: 'block' });
    }
  });

  it('applies each budget’s setting, with and without an estimate', async () => {
    for (const estimate of [undefined, { tokens: 1, costUsd: 0.1 }]) {
      expect((await calling('x', { agentId: 'allow', estimate })).verdict).toBe('ALLOW');
      const blocked = await calling('x', { agentId: 'block', estimate });
      expect(blocked).toMatchObject({ verdict: 'BLOCK', message: 'The budget "block" could not be asked in time' });
    }
  });
});

describe('while Postgres does not answer', () => {
  it('decides with the cached rules', async () => {
    postgres.mode('blackhole');
    postgres.reset();
    expect((await calling('forbidden')).verdict).toBe('BLOCK');
    expect(await calling('open')).toMatchObject({ verdict: 'ALLOW', bypasses: [] });
    const answer = await bus.request(COMMANDS.createBudget, {
      tenantId: 'acme',
      body: { name: 'x', scope: 'tenant', period: 'day', limitUsd: 1 },
    });
    expect(answer).toMatchObject({ ok: false, problem: { status: 503 } });
    postgres.mode('pass');
    postgres.reset();
  });
});

describe('an approval', () => {
  it.each([
    ['pending', { verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'HITL_PENDING', approvalId: 'alert-1' } }],
    ['approved', { verdict: 'ALLOW', control: 'CONTINUE' }],
    ['denied', { verdict: 'BLOCK', control: 'CONTINUE', message: expect.stringContaining('was denied') }],
    ['expired', { verdict: 'BLOCK', control: 'CONTINUE', message: expect.stringContaining('was not decided in time') }],
    ['cancelled', { verdict: 'BLOCK', control: 'CONTINUE', message: expect.stringContaining('was cancelled') }],
  ] as const)('that is %s', async (status, answer) => {
    approval = anAlert({ status });
    expect(await calling('ask-allow')).toMatchObject(answer);
  });

  it('is one approval for two rules that ask for one call, and names both', async () => {
    for (const name of ['Destructive', 'Publishes'])
      await makeRule({
        ...{ name, actionType: 'require_approval', onUnavailable: name === 'Publishes' ? 'block' : 'allow' },
        ...{ conditionType: 'tool_name', conditionConfig: { operator: 'eq', value: 'push' } },
      });
    const before = approvalQuestions.length;
    approval = anAlert({ status: 'approved' });
    expect(await calling('push')).toMatchObject({ verdict: 'ALLOW' });
    expect(approvalQuestions).toHaveLength(before + 1);
    const question = approvalQuestions.at(-1) as { binding: { also: object[] }; title: string };
    expect(question.binding.also).toHaveLength(1);
    expect(question.title).toMatch(/\(also required by "(?:Destructive|Publishes)"/);
    // If it cannot be requested, the stricter of both decides.
    approval = 'hangs';
    expect(await calling('push')).toMatchObject({ verdict: 'BLOCK', bypasses: [{}, {}] });
    approval = anAlert();
  });

  it('is requested without secrets and personal data', async () => {
    approval = anAlert();
    const args = { to: 'ann@example.com', password: 'hunter2', note: `${'x'.repeat(440)} ghp_${'a'.repeat(36)}` };
    await calling('ask-allow', { args });
    const question = JSON.stringify(approvalQuestions.at(-1));
    expect(question).toContain('[email]');
    expect(question).toContain('[secret]');
    expect(question).not.toMatch(/ann@example|hunter2|ghp_/);
  });

  it('that cannot be requested is allowed or blocked as the rule says', async () => {
    approval = 'hangs';
    expect(await calling('ask-allow')).toMatchObject({ verdict: 'ALLOW', bypasses: [{ did: 'allow' }] });
    expect(await calling('ask-block')).toMatchObject({ verdict: 'BLOCK', bypasses: [{ did: 'block' }] });
  });
});
