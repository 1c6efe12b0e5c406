import {
  type BreakerChanged,
  type BreakerState,
  breakerChanged,
  COMMANDS,
  guardrailTriggered,
} from '@agentlens/contracts';
import { aTrigger, eventually, type RecordingServer, recordingServer } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { Webhook } from 'standardwebhooks';
import { MAX_PER_MINUTE } from '../src/alerts/alert.service.ts';
import { type Dispatching, firedBy, START } from './dispatching.ts';
import { granted, type reviewing } from './reviewing.ts';
import { withReview } from './with-review.ts';

const KEY = Buffer.alloc(32, 9).toString('base64');
/** A divisor of the number of alerts below, and half of the connections of a service. */
const AT_ONCE = 5;
let tenants = 0;

describe('alerts', () => {
  let world: Dispatching;
  let review: ReturnType<typeof reviewing>;
  let tenantId: string;
  withReview((its, reviewed) => {
    [world, review] = [its, reviewed];
  });
  beforeEach(async () => {
    tenants += 1;
    tenantId = `tenant-${tenants}`;
    await world.start();
  });

  const raise = async (fields = {}) => granted(await review.raise({ tenantId, ...fields }));
  const rows = () => review.alertsOf(tenantId);

  it('are raised once while one of the same rule, agent and run is open', async () => {
    await world.start();
    const changes = await review.changes();
    const ids = await Promise.all(Array.from({ length: 10 }, () => raise({ ruleId: 'r', runId: 'x' })));
    expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
    expect(await rows()).toMatchObject([{ suppressed: 9, version: 1, status: 'pending' }]);
    await eventually(() => expect(changes.alerts).toHaveLength(1));
    await raise({ ruleId: 'r', runId: 'y' });
    await raise({ ruleId: 'r', agentId: 'agent-2', runId: 'x' });
    await raise({ ruleId: 'q', runId: 'x' });
    await raise({ runId: 'x' });
    expect(await rows()).toHaveLength(5);
    await changes.close();
  });

  it.each(['acknowledge', 'cancel'] as const)(
    'are raised again after a person chose to %s the previous one',
    async (verb) => {
      const first = await raise();
      granted(await review.decide(first.id, verb, { tenantId }));
      const second = await raise();
      expect(second).toMatchObject({ status: 'pending' });
      expect(second.id).not.toBe(first.id);
    },
  );

  it('expire after a day unseen, and the next one is new', async () => {
    const first = await raise();
    world.clock.advance(24 * 3_600_000);
    await eventually(async () => expect(await review.alert(first.id)).toMatchObject({ status: 'expired' }));
    expect((await raise()).id).not.toBe(first.id);
  });

  describe('about what is unlike before', () => {
    const change = (fields = {}) => ({
      about: 'r v2',
      at: START,
      ruleId: 'r',
      agentId: 'all-agents',
      severity: 'error' as const,
      title: 'It stops much more',
      message: 'since it changed',
      ...fields,
    });
    const report = async (...changes: readonly ReturnType<typeof change>[]) => {
      const asOf = new Date(world.clock.now()).toISOString();
      return granted(await world.bus.request(COMMANDS.reportChanges, { tenantId, asOf, changes: [...changes] }));
    };

    it('are raised once each and do not repeat while they last, like any alert', async () => {
      const changes = await review.changes();
      await Promise.all([report(change(), change({ about: 'spend' })), report(change(), change({ about: 'spend' }))]);
      world.clock.advance(3_600_000);
      const later = new Date(world.clock.now()).toISOString();
      expect(await report(change(), change({ about: 'spend', at: later }))).toEqual({ ended: 0 });
      const known = await rows();
      expect(known.map(({ kind, status }) => [kind, status])).toEqual([
        ['change', 'pending'],
        ['change', 'pending'],
      ]);
      await eventually(() => expect(changes.alerts).toHaveLength(2));
      await changes.close();
    });

    it('end when they are over, but not within five minutes, and are not raised again', async () => {
      await report(change());
      world.clock.advance(60_000);
      expect(await report()).toEqual({ ended: 0 });
      world.clock.advance(300_000);
      expect(await report()).toEqual({ ended: 1 });
      await report(change());
      expect(await rows()).toMatchObject([
        { kind: 'change', status: 'cancelled', decided_by: 'agentlens', reason: 'it is as before again' },
      ]);
      await report(change({ about: 'r v3' }));
      expect(await rows()).toHaveLength(2);
    });

    it('stay with the person who acknowledged them', async () => {
      await report(change());
      const [row] = await rows();
      granted(await review.decide(row?.alert_id ?? '', 'acknowledge', { tenantId }));
      world.clock.advance(600_000);
      await report(change());
      expect(await report()).toEqual({ ended: 0 });
      expect(await rows()).toMatchObject([{ status: 'acknowledged' }]);
    });
  });

  it('stay open after they were seen', async () => {
    const { id } = await raise();
    granted(await review.decide(id, 'acknowledge', { tenantId, reason: 'on it' }));
    world.clock.advance(30 * 24 * 3_600_000);
    await raise({ ruleId: 'later' });
    expect(await review.alert(id)).toMatchObject({ status: 'acknowledged', reason: 'on it' });
    expect(granted(await review.decide(id, 'cancel', { tenantId }))).toMatchObject({ status: 'cancelled' });
  });

  it.each(['approve', 'deny'] as const)('reject %s, which is only for approvals', async (verb) => {
    const { id } = await raise();
    expect(await review.decide(id, verb, { tenantId })).toMatchObject({ ok: false, problem: { status: 422 } });
    expect(await review.alert(id)).toMatchObject({ status: 'pending' });
  });

  it('are suppressed and counted above the rate limit', async () => {
    await world.start();
    const raised: Awaited<ReturnType<typeof raise>>[] = [];
    // Together, but no more than there are connections: a request gives up that waits too long for one.
    for (let n = 0; n < MAX_PER_MINUTE + 20; n += AT_ONCE) {
      const wave = Array.from({ length: AT_ONCE }, (_, each) => raise({ ruleId: `r-${n + each}` }));
      raised.push(...(await Promise.all(wave)));
    }
    const stored = await rows();
    expect(stored).toHaveLength(MAX_PER_MINUTE + 1);
    const overflow = stored.find((row) => row.suppressed > 0);
    expect(overflow).toMatchObject({ suppressed: 20, title: 'More alerts than can be shown', severity: 'error' });
    expect(raised.filter(({ id }) => id === overflow?.alert_id)).toHaveLength(20);
    expect(granted(await review.raise({ tenantId: `${tenantId}-b` }))).toMatchObject({ title: 'Look' });
    world.clock.advance(60_000);
    expect(await raise({ ruleId: 'after' })).toMatchObject({ title: 'Look', ruleId: 'after' });
  });

  it('of kind approval cannot be raised directly', async () => {
    expect(await review.raise({ tenantId, kind: 'approval' })).toMatchObject({ ok: false, problem: { status: 422 } });
  });

  describe('of the action raise_alert', () => {
    let receiver: RecordingServer;
    beforeEach(async () => {
      receiver = await recordingServer();
    });
    afterEach(() => receiver.close());

    async function fire(actionConfig: Record<string, unknown> = {}, fields = {}) {
      const id = `rule-${tenantId}-${Math.trunc(world.clock.now())}`;
      const secret = world.secrets.seal(`whsec_${KEY}`, [tenantId, 'guardrail_rules', id]);
      const config = 'webhookUrl' in actionConfig ? { ...actionConfig, secret } : actionConfig;
      const rule = await world.rule({
        id,
        tenantId,
        actionType: 'raise_alert',
        actionConfig: config,
        cooldownMinutes: 0,
      });
      const trigger = aTrigger({ ...firedBy(rule), ...fields });
      await world.bus.publish(guardrailTriggered, trigger);
      return { rule, trigger };
    }

    it("contain the rule's message and appear in its history", async () => {
      const { rule, trigger } = await fire({ severity: 'critical', title: 'Stop' });
      expect(await world.settled(trigger, 'success')).toMatchObject({ action_detail: 'alert raised' });
      expect(await rows()).toMatchObject([
        {
          kind: 'rule',
          severity: 'critical',
          title: 'Stop',
          message: trigger.message,
          rule_id: rule.id,
          run_id: 'run-1',
        },
      ]);
    });

    it('are raised once per trigger, even if it is repeated after the alert was closed', async () => {
      const { trigger } = await fire();
      await world.settled(trigger, 'success');
      const [row] = await rows();
      granted(await review.decide(row?.alert_id ?? '', 'cancel', { tenantId }));
      const { delivery_id } = await world.delivery(trigger);
      granted(await world.bus.request(COMMANDS.redeliver, { tenantId, deliveryId: delivery_id }));
      await eventually(async () => expect(await world.attempts(trigger)).toHaveLength(2));
      expect(await rows()).toHaveLength(1);
    });

    it('are sent to the webhook on every change, signed, each with a unique id', async () => {
      const { trigger } = await fire({ webhookUrl: `${receiver.url}/alerts` });
      await world.settled(trigger, 'success');
      const [row] = await rows();
      const id = row?.alert_id ?? '';
      granted(await review.decide(id, 'acknowledge', { tenantId }));
      granted(await review.decide(id, 'cancel', { tenantId, reason: 'done' }));
      const { rows: audited } = await sql<{ after: object }>`
        select after from audit_entries where target = 'alert' and after->>'id' = ${id}`.execute(world.db);
      expect(audited.flatMap(({ after }) => Object.keys(after))).not.toContain('message');
      await eventually(() => expect(receiver.requests).toHaveLength(3));
      const hook = new Webhook(KEY);
      world.clock.set(new Date().toISOString());
      const bodies = receiver.requests.map(({ body }) => JSON.parse(body));
      expect(new Set(bodies.map(({ data }) => data.version))).toEqual(new Set([1, 2, 3]));
      expect(bodies).toContainEqual({
        type: 'alert.changed',
        timestamp: START,
        data: expect.objectContaining({ id, tenantId, status: 'cancelled', reason: 'done', decidedBy: 'ann' }),
      });
      expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
      for (const { headers, body } of receiver.requests) {
        expect(headers['webhook-signature']).toBe(hook.sign(String(headers['webhook-id']), new Date(START), body));
      }
      expect(world.logged()).not.toContain(KEY);
    });

    it("are raised if the webhook is unavailable, without affecting the trigger's result", async () => {
      receiver.answer((_request, response) => response.writeHead(500).end());
      const { trigger } = await fire({ webhookUrl: `${receiver.url}/alerts` });
      await world.settled(trigger, 'success');
      await eventually(() => expect(receiver.requests).toHaveLength(1));
      expect(await rows()).toMatchObject([{ status: 'pending' }]);
      expect(await world.history(trigger)).toMatchObject({ action_result: 'success' });
      const sent = await world.db
        .selectFrom('deliveries')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('action_type', '=', 'alert_webhook')
        .execute();
      expect(sent).toHaveLength(1);
      receiver.answer((_request, response) => response.writeHead(204).end());
      world.clock.advance(10_000);
      await eventually(() => expect(receiver.requests).toHaveLength(2));
      const [first, again] = receiver.requests;
      expect(again?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    });

    it('notify the webhook about approvals and breakers of the agents that the rule guards', async () => {
      await fire({ webhookUrl: `${receiver.url}/alerts`, webhookAlso: ['approval'] });
      await eventually(() => expect(receiver.requests).toHaveLength(1));
      granted(await review.resolve(review.binding({ runId: 'asked' }), { tenantId }));
      await eventually(() => expect(receiver.requests).toHaveLength(2));
      expect(JSON.parse(receiver.requests[1]?.body ?? '')).toMatchObject({
        data: { kind: 'approval', runId: 'asked' },
      });
      await world.bus.publish(breakerChanged, opened());
      await eventually(async () => expect(await rows()).toHaveLength(3));
      granted(await review.resolve(review.binding({ runId: 'asked' }), { tenantId: `${tenantId}-b` }));
      granted(await review.resolve(review.binding({ runId: 'asked-too' }), { tenantId }));
      await eventually(() => expect(receiver.requests).toHaveLength(3));
      expect(JSON.parse(receiver.requests[2]?.body ?? '')).toMatchObject({ data: { runId: 'asked-too' } });
    });
  });

  const change = (state: BreakerState, fields: Partial<BreakerChanged> = {}): BreakerChanged => ({
    tenantId,
    scope: 'run',
    scopeId: 'run-7',
    agentId: 'agent-1',
    state,
    version: 1,
    at: START,
    ...fields,
  });
  const opened = (fields: Partial<BreakerChanged> = {}) =>
    change({ kind: 'open', openedAt: START, reason: 'tokens' }, fields);

  describe('of breakers', () => {
    it('explain the limit and how to raise it', async () => {
      await world.bus.publish(breakerChanged, opened({ limit: 200_000 }));
      await eventually(async () => expect(await rows()).toHaveLength(1));
      expect((await rows())[0]?.message).toBe(
        'Calls are blocked because it used more tokens than it may. The limit (maxTokens) is 200000. To raise it, which ' +
          'closes the breaker: PUT /api/breakers/limits {"scope":"agent","id":"agent-1","limits":{"maxTokens":400000}} ' +
          '(what is left out gets its default). To close it once: POST /api/breakers/run/run-7/reset.',
      );
    });

    it('are raised when one opens, without the limit if it is unknown', async () => {
      await world.bus.publish(breakerChanged, opened());
      await eventually(async () => expect(await rows()).toHaveLength(1));
      expect(await rows()).toMatchObject([
        { kind: 'breaker', status: 'pending', agent_id: 'agent-1', run_id: 'run-7', severity: 'error' },
      ]);
      expect((await rows())[0]?.message).not.toMatch(/\d/);
    });

    it('are raised once per opening, even if it is reported again after the alert was closed', async () => {
      await world.bus.publish(breakerChanged, opened());
      await eventually(async () => expect(await rows()).toHaveLength(1));
      const [row] = await rows();
      await world.bus.publish(breakerChanged, change({ kind: 'closed' }, { version: 2 }));
      await eventually(async () =>
        expect(await review.alert(row?.alert_id ?? '')).toMatchObject({ status: 'cancelled', decided_by: 'agentlens' }),
      );
      const desk = granted(await review.raise({ tenantId, ruleId: 'marker' }));
      await world.bus.publish(breakerChanged, opened({ version: 3 }));
      await eventually(async () => expect(await rows()).toHaveLength(3));
      expect(
        (await rows())
          .filter(({ alert_id }) => alert_id !== desk.id)
          .map(({ status }) => status)
          .sort(),
      ).toEqual(['cancelled', 'pending']);
    });

    it('are separate per scope, and a probe raises none', async () => {
      await world.bus.publish(breakerChanged, opened());
      await world.bus.publish(breakerChanged, opened({ scope: 'agent', scopeId: 'agent-1', version: 2 }));
      const halfOpen = { kind: 'half_open', openedAt: START, reason: 'tokens', probe: 'p' } as const;
      await world.bus.publish(breakerChanged, change(halfOpen, { scopeId: 'run-8', version: 3 }));
      await world.bus.publish(breakerChanged, opened({ scopeId: 'run-9', version: 4 }));
      await eventually(async () => expect(await rows()).toHaveLength(3));
      expect(new Set((await rows()).map(({ run_id }) => run_id))).toEqual(new Set(['run-7', 'run-9', null]));
    });
  });

  it('are monitored by readiness', async () => {
    expect((await world.health.report()).checks).toMatchObject({ alerts: { ok: true } });
  });
});
