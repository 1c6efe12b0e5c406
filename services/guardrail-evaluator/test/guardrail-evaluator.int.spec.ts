import {
  type AgentEvent,
  agentEvents,
  COMMANDS,
  type EventBatch,
  type GuardrailRule,
  guardrailTriggered,
} from '@agentlens/contracts';
import type { EventBus } from '@agentlens/messaging';
import { aBatch, anEvent, aTrigger, eventually } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Harness, openHarness } from './harness.ts';

const DRAFT = {
  name: 'Too many errors',
  conditionType: 'error_rate_threshold',
  conditionConfig: { threshold: 30, windowMinutes: 5 },
  actionType: 'pause_agent',
};

let harness: Harness;
let tenantNumber = 0;
let tenantId = '';

beforeAll(async () => {
  harness = await openHarness();
});
afterAll(() => harness.close());

/** Every test uses its own tenants, so that tests share only the servers. */
function newTenant(): string {
  tenantNumber += 1;
  tenantId = `tenant-${tenantNumber}`;
  return tenantId;
}

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const replica of running.splice(0)) await replica.stop();
});

async function replica(change?: Parameters<Harness['replica']>[0]) {
  const started = await harness.replica(change);
  running.push(started);
  return started;
}

async function createRule(body: object = {}, tenant = tenantId): Promise<GuardrailRule> {
  const patient = { ...COMMANDS.createRule, deadlineMs: 30_000 };
  const answer = await harness.bus.request(patient, { tenantId: tenant, body: { ...DRAFT, ...body } });
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

const now = () => new Date().toISOString();
const error = (fields: Partial<AgentEvent> = {}) =>
  anEvent({ isError: true, severity: 'error', occurredAt: now(), ...fields });
const batchOf = (events: AgentEvent[], fields: Partial<EventBatch> = {}) =>
  aBatch({ tenantId, receivedAt: now(), events, ...fields });
const publish = (batch: EventBatch, bus: EventBus = harness.bus) => bus.publish(agentEvents, batch);
const triggersOf = (tenant = tenantId) => harness.triggers.filter((trigger) => trigger.tenantId === tenant);

/** Resolves when nothing is left to deliver. */
async function settled(): Promise<void> {
  await eventually(async () => {
    const { pending, unacknowledged } = await harness.bus.lag(agentEvents, 'guardrail-evaluator');
    expect({ pending, unacknowledged }).toEqual({ pending: 0, unacknowledged: 0 });
  });
  // The watch receives triggers in stream order: when the last one has arrived, all have.
  const last = aTrigger({ tenantId: 'nobody' });
  await harness.bus.publish(guardrailTriggered, last);
  await eventually(() => expect(harness.triggers.map(({ id }) => id)).toContain(last.id));
}

const holds = (rule: GuardrailRule, { evaluator }: Awaited<ReturnType<typeof replica>>) =>
  eventually(() =>
    expect(evaluator.rules.book.matching(rule.tenantId, 'agent-1', 'custom.recorded').map(({ id }) => id)).toContain(
      rule.id,
    ),
  );

describe('cooldown', () => {
  it('makes one trigger for a hundred matching events in one batch', async () => {
    newTenant();
    await replica();
    const rule = await createRule();
    await publish(batchOf(Array.from({ length: 100 }, () => error())));
    await settled();
    expect(triggersOf()).toMatchObject([{ ruleId: rule.id, conditionValue: 100, ruleVersion: 1 }]);
  });

  it('makes one trigger for eight senders and three replicas', async () => {
    newTenant();
    const replicas = [await replica(), await replica(), await replica()];
    const rule = await createRule();
    await Promise.all(replicas.map((one) => holds(rule, one)));
    const sender = async () => {
      for (let i = 0; i < 10; i++) await publish(batchOf([error(), error()]));
    };
    await Promise.all(Array.from({ length: 8 }, sender));
    await settled();
    expect(triggersOf()).toHaveLength(1);
  });
});

describe('tenants', () => {
  it('stay separate if their agents have the same name', async () => {
    const [a, b] = [newTenant(), newTenant()];
    await replica();
    await createRule({}, a);
    await createRule({ conditionConfig: { minEvents: 5 } }, b);
    await publish(
      batchOf(
        Array.from({ length: 9 }, () => error()),
        { tenantId: a },
      ),
    );
    await publish(batchOf([anEvent({ occurredAt: now() })], { tenantId: b }));
    await settled();
    expect([triggersOf(a).length, triggersOf(b).length]).toEqual([1, 0]);
  });
});

class Killed extends Error {}

/** Fails the first call after carrying it out, like a process that crashes. */
function dyingAfter<A extends unknown[], R>(work: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  let dead = false;
  return async (...args) => {
    const result = await work(...args);
    if (dead) return result;
    dead = true;
    throw new Killed();
  };
}

describe('a crash with redelivery of the batch', () => {
  it.each([
    ['after counting', ({ windows }) => ({ windows: dying(windows, 'advance') })],
    ['after claiming', ({ cooldowns }) => ({ cooldowns: dying(cooldowns, 'claim') })],
    ['after publishing', ({ bus }) => ({ bus: dying(bus, 'publish', (topic) => topic === 'guardrail.triggered') })],
  ] satisfies [string, NonNullable<Parameters<Harness['replica']>[0]>][])('%s', async (_when, change) => {
    newTenant();
    // Created by another replica: the announcement of the rule must not be the call that fails.
    const sound = await replica();
    const rule = await createRule({ conditionConfig: { threshold: 50, minEvents: 4, windowMinutes: 5 } });
    await sound.stop();
    running.splice(0);
    const doomed = await replica(change);
    await holds(rule, doomed);
    const batch = batchOf([error(), error(), error(), error()]);
    await publish(batch);
    await settled();
    expect(triggersOf()).toMatchObject([{ eventId: batch.events[3]?.id, conditionValue: 100 }]);
    const [totals] = await harness.state.windows.read(tenantId, 'agent-1', Date.parse(batch.receivedAt), [
      { metric: '%error_share', span: { kind: 'sliding', minutes: 5 }, shape: 'sum' },
    ]);
    expect(totals).toMatchObject({ count: 4, sum: 4 });
  });
});

/** `port` whose first matching call of `method` fails after it was carried out. */
function dying<T extends object>(
  port: T,
  method: keyof T & string,
  concerns: (topic: string) => boolean = () => true,
): T {
  const original = (port[method] as (...args: unknown[]) => Promise<unknown>).bind(port);
  const deadly = dyingAfter(original);
  return new Proxy(port, {
    get(target, key) {
      if (key !== method) {
        const value = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return (...args: unknown[]) => {
        const topic = (args[0] as { name?: string }).name;
        return topic === undefined || concerns(topic) ? deadly(...args) : original(...args);
      };
    },
  });
}

describe('repeated events', () => {
  it('count once, in any order and in any batch', async () => {
    newTenant();
    await replica();
    await createRule({ conditionConfig: { threshold: 50, minEvents: 6, windowMinutes: 5 } });
    const events = Array.from({ length: 5 }, (_, i) => error({ id: `${tenantId}-e${i}`, retryable: true }));
    for (let round = 0; round < 3; round++) {
      for (const event of round % 2 === 0 ? events : [...events].reverse()) await publish(batchOf([event]));
    }
    await publish(batchOf(events));
    await settled();
    expect(triggersOf()).toEqual([]);
    await publish(batchOf([error()]));
    await eventually(() => expect(triggersOf()).toHaveLength(1));
  });
});

describe('a rule', () => {
  it('changes on every replica without a restart', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    const rule = await createRule({ enabled: false });
    const ask = { tenantId, ruleId: rule.id };
    const inForce = () =>
      replicas.map(
        ({ evaluator }) => evaluator.rules.book.matching(tenantId, 'agent-1', 'custom.recorded')[0]?.version ?? null,
      );
    expect(inForce()).toEqual([null, null]);
    await harness.bus.request(COMMANDS.updateRule, { ...ask, body: { enabled: true } });
    await eventually(() => expect(inForce()).toEqual([2, 2]));
    await harness.bus.request(COMMANDS.updateRule, { ...ask, body: { name: 'Renamed' } });
    await eventually(() => expect(inForce()).toEqual([3, 3]));
    await harness.bus.request(COMMANDS.deleteRule, ask);
    await eventually(() => expect(inForce()).toEqual([null, null]));
  });

  it('stays cached when another rule of its tenant changes', async () => {
    newTenant();
    const { evaluator } = await replica();
    const kept = await createRule({ name: 'Kept' });
    const changed = await createRule({ name: 'Changed' });
    const inForce = () => evaluator.rules.book.matching(tenantId, 'agent-1', 'custom.recorded');
    const versions = () => Object.fromEntries(inForce().map(({ id, version }) => [id, version]));
    await eventually(() => expect(versions()).toEqual({ [kept.id]: 1, [changed.id]: 1 }));
    const before = inForce().find(({ id }) => id === kept.id);
    await harness.bus.request(COMMANDS.updateRule, { tenantId, ruleId: changed.id, body: { name: 'Again' } });
    await eventually(() => expect(versions()).toEqual({ [kept.id]: 1, [changed.id]: 2 }));
    await harness.bus.request(COMMANDS.deleteRule, { tenantId, ruleId: changed.id });
    await eventually(() => expect(versions()).toEqual({ [kept.id]: 1 }));
    expect(inForce()[0]).toBe(before);
  });

  it('stays readable after deletion, with sealed secrets', async () => {
    newTenant();
    await replica();
    const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
    const rule = await createRule({
      actionType: 'notify_webhook',
      actionConfig: { url: 'https://example.com/hook', secret },
    });
    expect(JSON.stringify(rule)).not.toContain(secret);
    await harness.bus.request(COMMANDS.deleteRule, { tenantId, ruleId: rule.id });
    const row = await harness.database.db
      .selectFrom('guardrail_rules')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .executeTakeFirstOrThrow();
    expect(row).toMatchObject({ rule_id: rule.id, version: 2, deleted_at: expect.any(String) });
    expect(JSON.stringify(row)).not.toContain(secret);
  });

  it('is changed by concurrent writers one after the other', async () => {
    newTenant();
    await replica();
    await replica();
    const { id: ruleId } = await createRule();
    const bodies = Array.from({ length: 10 }, (_, i) => ({ priority: i }));
    const answers = await Promise.all(
      bodies.map((body) => harness.bus.request(COMMANDS.updateRule, { tenantId, ruleId, body })),
    );
    const versions = answers.map((answer) => (answer.ok ? answer.value.version : 0)).sort((a, b) => a - b);
    expect(versions).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it('keeps all its versions, numbered without gaps, with their authors', async () => {
    newTenant();
    await replica();
    await replica();
    const { id: ruleId } = await createRule();
    const ask = { tenantId, ruleId };
    const answers = await Promise.all(
      [1, 2, 3].map((priority) =>
        harness.bus.request(COMMANDS.updateRule, {
          ...ask,
          body: { priority },
          by: `author ${priority}`,
          ifVersion: 1,
        }),
      ),
    );
    const won = answers.findIndex(({ ok }) => ok) + 1;
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(answers).toContainEqual({ ok: false, problem: expect.objectContaining({ status: 412, currentVersion: 2 }) });
    await harness.bus.request(COMMANDS.revertRule, { ...ask, version: 1, reason: 'no' });
    await harness.bus.request(COMMANDS.deleteRule, { ...ask, by: 'sam' });
    const versions = await harness.database.db
      .selectFrom('rule_versions')
      .select(['version', 'changed_by', 'reason', 'source', 'deleted', 'changes'])
      .where('rule_id', '=', ruleId)
      .orderBy('version')
      .execute();
    const revision = { changed_by: null, reason: null, source: 'api', deleted: false, changes: [] };
    const change = { path: 'priority', from: 0, to: won };
    expect(versions).toEqual([
      { ...revision, version: 1 },
      { ...revision, version: 2, changed_by: `author ${won}`, changes: [change] },
      { ...revision, version: 3, source: 'revert', reason: 'no', changes: [{ path: 'priority', from: won, to: 0 }] },
      { ...revision, version: 4, changed_by: 'sam', deleted: true },
    ]);
  });

  it('of another tenant is not found', async () => {
    const owner = newTenant();
    await replica();
    const { id: ruleId } = await createRule({}, owner);
    const foreign = { tenantId: newTenant(), ruleId };
    const notFound = { ok: false, problem: { status: 404 } };
    expect(await harness.bus.request(COMMANDS.updateRule, { ...foreign, body: {} })).toMatchObject(notFound);
    expect(await harness.bus.request(COMMANDS.deleteRule, foreign)).toMatchObject(notFound);
  });
});

describe('the state of a rule', () => {
  it('is written with the newest value, per agent', async () => {
    newTenant();
    const one = await replica();
    const rule = await createRule({ conditionConfig: { threshold: 90 } });
    const batch = batchOf([
      anEvent({ occurredAt: now() }),
      error(),
      anEvent({ agentId: 'agent-2', occurredAt: now() }),
    ]);
    await publish(batch);
    await settled();
    await one.stop();
    running.splice(0);
    const rows = await harness.database.db
      .selectFrom('guardrail_states')
      .select(['rule_id', 'agent_id', 'current_value', 'last_evaluated_at', 'degraded_reason'])
      .where('tenant_id', '=', tenantId)
      .orderBy('agent_id')
      .execute();
    const common = { rule_id: rule.id, last_evaluated_at: batch.receivedAt, degraded_reason: null };
    expect(rows).toEqual([
      { ...common, agent_id: 'agent-1', current_value: 50 },
      { ...common, agent_id: 'agent-2', current_value: 0 },
    ]);
  });
});
