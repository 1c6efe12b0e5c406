import { COMMANDS, Directive, directiveIssued, guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { openDatabase } from '@agentlens/database';
import type { Subscription } from '@agentlens/messaging';
import { aTrigger, eventually, type RecordingServer } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Dispatching, firedBy, START } from './dispatching.ts';
import { withReceiver } from './with-receiver.ts';

describe('control actions', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  let watch: Subscription;
  let issued: Directive[];
  withReceiver((its, receiving) => {
    [world, receiver] = [its, receiving];
  });
  beforeEach(async () => {
    issued = [];
    watch = await world.bus.watch(directiveIssued, {}, ({ value }) => issued.push(value));
    await world.start();
  });
  afterEach(async () => {
    await watch.close();
  });

  async function fire(actionType: string, actionConfig: Record<string, unknown>, fields: Partial<Trigger> = {}) {
    const rule = await world.rule({
      actionType,
      actionConfig,
      cooldownMinutes: 0,
      tenantId: fields.tenantId ?? 'acme',
    });
    const trigger = aTrigger({ ...firedBy(rule), ...fields });
    await world.bus.publish(guardrailTriggered, trigger);
    return trigger;
  }
  const directiveOf = (agentId: string, tenantId = 'acme') =>
    world.db
      .selectFrom('agent_directives')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('agent_id', '=', agentId)
      .executeTakeFirst();
  const unpause = (agentId: string, clearModelOverride = false, tenantId = 'acme') =>
    world.bus.request(COMMANDS.unpauseAgent, { tenantId, agentId, clearModelOverride });

  it('pause the agent, in the table and on the bus, until a person resumes it', async () => {
    const agentId = 'crew/role.1';
    const trigger = await fire('pause_agent', { message: 'look at it' }, { agentId });
    expect(await world.settled(trigger, 'success')).toMatchObject({ action_detail: 'paused' });
    expect(await directiveOf(agentId)).toMatchObject({
      version: 1,
      paused_at: START,
      pause_reason: 'look at it',
      pause_trigger_id: trigger.id,
    });
    await eventually(() => expect(issued).toHaveLength(1));
    expect(issued[0]).toMatchObject({
      tenantId: 'acme',
      agentId,
      version: 1,
      paused: { at: START, reason: 'look at it', triggerId: trigger.id },
      modelOverride: null,
    });

    const answer = await unpause(agentId);
    expect(answer).toMatchObject({ ok: true, value: { version: 2, paused: null } });
    await eventually(() => expect(issued.map(({ version }) => version)).toEqual([1, 2]));
    expect(issued[1]).toEqual(answer.ok && Directive.parse(answer.value));
    expect(await directiveOf(agentId)).toMatchObject({ paused_at: null, pause_reason: null, version: 2 });

    const { delivery_id: deliveryId } = await world.delivery(trigger);
    await world.bus.request(COMMANDS.redeliver, { tenantId: 'acme', deliveryId });
    await eventually(async () =>
      expect(await world.delivery(trigger)).toMatchObject({ attempts: 2, result: 'success' }),
    );
    expect(await directiveOf(agentId)).toMatchObject({ paused_at: null, version: 2 });
  });

  it('override the model, which survives a resume unless that clears it', async () => {
    const agentId = 'spender';
    await world.settled(await fire('downgrade_model', { targetModel: 'small' }, { agentId }), 'success');
    await world.settled(await fire('pause_agent', {}, { agentId }), 'success');
    expect(await unpause(agentId)).toMatchObject({
      ok: true,
      value: { version: 3, paused: null, modelOverride: { model: 'small' } },
    });
    expect(await unpause(agentId, true)).toMatchObject({ ok: true, value: { version: 4, modelOverride: null } });
    expect(await unpause(agentId, true)).toMatchObject({ ok: true, value: { version: 4 } });
    await eventually(() => expect(issued.map(({ version }) => version)).toEqual([1, 2, 3, 4]));
  });

  it('apply every concurrent order, with one version each', async () => {
    const agentId = 'crowded';
    const triggers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        n % 2 === 0
          ? fire('pause_agent', {}, { agentId })
          : fire('downgrade_model', { targetModel: `model-${n}` }, { agentId }),
      ),
    );
    for (const trigger of triggers) await world.settled(trigger, 'success');
    const row = await directiveOf(agentId);
    const newest = (type: string) =>
      triggers
        .filter((t) => t.actionType === type)
        .map((t) => t.id)
        .sort()
        .at(-1);
    expect(row).toMatchObject({
      pause_trigger_id: newest('pause_agent'),
      model_override_trigger_id: newest('downgrade_model'),
    });
    await eventually(() => expect(issued.at(-1)).toMatchObject({ version: row?.version }));
    expect(issued.map(({ version }) => version)).toEqual(issued.map((_, i) => i + 1));
  });

  describe('that pause, when a person resumes the agent', () => {
    const MINUTE_MS = 60_000;
    const minute = (n: number) => new Date(Date.parse(START) + n * MINUTE_MS).toISOString();
    let rearmed: { ruleIds: string[]; agentId: string; at: string }[];
    let evaluator: Subscription | undefined;
    beforeEach(() => {
      rearmed = [];
      world.clock.set(START);
    });
    afterEach(async () => {
      await evaluator?.close();
      evaluator = undefined;
    });
    const startEvaluator = async () => {
      evaluator = await world.bus.serve(COMMANDS.rearmRules, async ({ ruleIds, agentId, at }) => {
        rearmed.push({ ruleIds, agentId, at });
        return { ok: true, value: { ok: true } } as const;
      });
    };

    /** An agent that a rule has paused, with a function that fires the rule again. */
    async function pausedAgent(agentId: string) {
      const rule = await world.rule({ actionType: 'pause_agent', actionConfig: {}, cooldownMinutes: 15 });
      const fireAt = async (n: number) => {
        // Ids are ordered by time, like the ids of real triggers.
        const trigger = aTrigger({ ...firedBy(rule), id: `${agentId}-${minute(n)}`, agentId, triggeredAt: minute(n) });
        await world.bus.publish(guardrailTriggered, trigger);
        return trigger;
      };
      await world.settled(await fireAt(0), 'success');
      world.clock.set(minute(5));
      return { rule, fireAt };
    }

    it('pause it again at once, but not because of earlier triggers', async () => {
      await startEvaluator();
      const { rule, fireAt } = await pausedAgent('again');
      expect(await unpause('again')).toMatchObject({
        ok: true,
        value: { paused: null, rearmed: [{ ruleId: rule.id, ruleName: rule.name }] },
      });
      expect(rearmed).toEqual([{ ruleIds: [rule.id], agentId: 'again', at: minute(5) }]);

      await world.settled(await fireAt(4), 'cooldown');
      expect(await directiveOf('again')).toMatchObject({ paused_at: null });
      await world.settled(await fireAt(6), 'success');
      expect(await directiveOf('again')).toMatchObject({ paused_at: minute(5) });
      await world.settled(await fireAt(7), 'cooldown');
      await world.settled(await fireAt(4.5), 'cooldown');
    });

    it('change nothing if the evaluator is unavailable, and the agent stays paused', async () => {
      const { rule, fireAt } = await pausedAgent('kept');
      expect(await unpause('kept')).toMatchObject({
        ok: false,
        problem: { status: 503, error: expect.stringContaining('stays paused') },
      });
      expect(await directiveOf('kept')).toMatchObject({ paused_at: START });
      await world.settled(await fireAt(6), 'cooldown');

      await startEvaluator();
      expect(await unpause('kept')).toMatchObject({ ok: true, value: { rearmed: [{ ruleId: rule.id }] } });
    });

    it('are rearmed by an order that resumes the agent', async () => {
      await startEvaluator();
      const { rule, fireAt } = await pausedAgent('ordered');
      const order = { tenantId: 'acme', scope: 'agent', scopeId: 'ordered', reason: 'a look', by: 'ann' } as const;
      await world.bus.request(COMMANDS.orderControl, { ...order, state: 'paused' });
      expect(await unpause('ordered')).toEqual({
        ok: false,
        problem: {
          status: 409,
          error: `The agent is paused by an order of ann since ${minute(5)}: a look`,
          hint: 'Resume with POST /api/control {"scope":"agent","id":"ordered","state":"running"}',
        },
      });
      await world.bus.request(COMMANDS.orderControl, { ...order, state: 'running' });
      expect(rearmed).toMatchObject([{ ruleIds: [rule.id] }]);
      await world.settled(await fireAt(6), 'success');
    });

    it('are not affected by an order for the whole tenant', async () => {
      await startEvaluator();
      await pausedAgent('one-of-all');
      const order = { tenantId: 'acme', scope: 'tenant', scopeId: 'acme', reason: '', by: 'ann' } as const;
      await world.bus.request(COMMANDS.orderControl, { ...order, state: 'killed' });
      expect(await unpause('one-of-all')).toMatchObject({
        ok: false,
        problem: { status: 409, error: `Every agent of the tenant is killed by an order of ann since ${minute(5)}` },
      });
      await world.bus.request(COMMANDS.orderControl, { ...order, state: 'running' });
      expect(await unpause('one-of-all')).toMatchObject({ ok: true });
    });
  });

  it('affect only the agent of their own tenant', async () => {
    const trigger = await fire('pause_agent', {}, { agentId: 'shared-name' });
    await world.settled(trigger, 'success');
    expect(await directiveOf('shared-name', 'beta')).toBeUndefined();
    expect(await unpause('shared-name', false, 'beta')).toEqual({
      ok: false,
      problem: { error: 'Agent not found', status: 404 },
    });
    expect(await directiveOf('shared-name')).toMatchObject({ paused_at: START });
  });

  it('return a directive for an agent that was never paused', async () => {
    const { url } = world;
    const runTracking = openDatabase({ url, role: 'run-tracking', maxConnections: 1 });
    const counters = { run_count: 0, event_count: 0, error_count: 0, cost_usd: 0 };
    await runTracking.db
      .insertInto('agents')
      .values({
        tenant_id: 'acme',
        agent_id: 'calm',
        name: null,
        description: null,
        first_seen_at: START,
        last_seen_at: START,
        ...counters,
      })
      .execute();
    await runTracking.close();
    expect(await unpause('calm')).toMatchObject({ ok: true, value: { version: 1, paused: null, modelOverride: null } });
  });

  it('set the policy on an AgentGate server, with its key', async () => {
    const id = 'rule-gate';
    const apiKey = world.secrets.seal('gate-key-1234', ['acme', 'guardrail_rules', id]);
    const rule = await world.rule({
      id,
      actionType: 'agentgate_policy',
      actionConfig: { agentgateUrl: `${receiver.url}/gate/`, policyId: 'a b', action: 'restrict', apiKey },
    });
    const trigger = aTrigger(firedBy(rule));
    await world.bus.publish(guardrailTriggered, trigger);
    await world.settled(trigger, 'success');
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]).toMatchObject({
      method: 'PUT',
      path: '/gate/api/policies/a%20b',
      headers: { authorization: 'Bearer gate-key-1234' },
    });
    expect(JSON.parse(receiver.requests[0]?.body ?? '')).toEqual({
      action: 'restrict',
      reason: trigger.message,
      agentId: 'agent-1',
      triggeredBy: 'agentlens-guardrail',
      ruleId: id,
    });
  });

  it('fail within a minute if AgentGate keeps failing', async () => {
    receiver.answer((_request, response) => response.writeHead(503).end());
    const trigger = await fire('agentgate_policy', { agentgateUrl: receiver.url, policyId: 'p', action: 'restrict' });
    const begun = world.clock.now();
    await eventually(async () => {
      const delivery = await world.delivery(trigger);
      if (delivery.next_attempt_at !== null && delivery.lease_id === null) world.clock.set(delivery.next_attempt_at);
      expect(delivery.result).toBe('failed');
    });
    expect(world.clock.now() - begun).toBeLessThan(120_000);
    expect((await world.history(trigger))?.action_detail).toMatch(/HTTP 503|was unavailable/);
  });

  it('fail at once if AgentGate rejects the request', async () => {
    receiver.answer((_request, response) => response.writeHead(403).end('{"secret":"details"}'));
    const trigger = await fire('agentgate_policy', { agentgateUrl: receiver.url, policyId: 'p', action: 'restrict' });
    expect(await world.settled(trigger, 'failed')).toMatchObject({ action_detail: 'HTTP 403' });
    expect(receiver.requests).toHaveLength(1);
  });

  it('fail with a clear reason if the action of the rule is unknown or no longer valid', async () => {
    expect(await world.settled(await fire('launch_rocket', {}), 'failed')).toMatchObject({
      action_detail: 'no action "launch_rocket" is known',
    });
    expect(await world.settled(await fire('downgrade_model', {}), 'failed')).toMatchObject({
      action_detail: expect.stringMatching(/actionConfig\.targetModel/),
    });
  });

  it('report progress to readiness', async () => {
    const report = await world.health.report();
    expect(report.checks).toMatchObject({ deliveries: { ok: true }, triggers: { ok: true } });
  });
});
