import { DeliverySettled, MINUTE_MS, type Trigger } from '@agentlens/contracts';
import { aTrigger } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Dispatching, dispatching, firedBy, START } from './dispatching.ts';

describe('recording triggers', () => {
  let world: Dispatching;
  beforeAll(async () => {
    world = await dispatching();
  });
  afterAll(() => world.close());

  const at = (minutes: number) => new Date(Date.parse(START) + minutes * MINUTE_MS).toISOString();
  const cooldownOf = (trigger: Trigger) =>
    world.db
      .selectFrom('trigger_cooldowns')
      .selectAll()
      .where('rule_id', '=', trigger.ruleId)
      .where('agent_id', '=', trigger.agentId)
      .where('dry_run', '=', trigger.dryRun)
      .executeTakeFirst();
  const effective = (triggers: readonly Trigger[]) =>
    world.db
      .selectFrom('guardrail_triggers')
      .select(['trigger_id', 'triggered_at', 'action_result'])
      .where(
        'trigger_id',
        'in',
        triggers.map(({ id }) => id),
      )
      .where('action_result', '<>', 'cooldown')
      .orderBy('triggered_at')
      .execute();
  const deliveriesOf = (ruleId: string) =>
    world.db.selectFrom('deliveries').selectAll().where('rule_id', '=', ruleId).execute();

  it('writes history and a due delivery once, for any number of repetitions', async () => {
    const rule = await world.rule();
    const trigger = aTrigger(firedBy(rule));
    const recorder = world.recorder();

    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await recorder.record(trigger, '00-abc-def-01'));

    expect(answers).toEqual(['queued', 'known', 'known']);
    expect(await world.history(trigger)).toMatchObject({
      action_result: 'pending',
      rule_name: rule.name,
      condition_value: 50,
      cooldown_minutes: 15,
      settled_at: null,
    });
    expect(await deliveriesOf(rule.id)).toHaveLength(1);
    expect(await world.delivery(trigger)).toMatchObject({
      result: 'pending',
      next_attempt_at: START,
      traceparent: '00-abc-def-01',
      destination: null,
    });
    expect(await cooldownOf(trigger)).toMatchObject({
      trigger_id: trigger.id,
      trigger_count: 1,
      last_triggered_at: trigger.triggeredAt,
      cooling_until: at(15),
    });
  });

  it('records a second trigger within the cooldown without a delivery', async () => {
    const rule = await world.rule();
    const first = aTrigger({ ...firedBy(rule), triggeredAt: at(0) });
    const inside = aTrigger({ ...firedBy(rule), triggeredAt: at(14.9) });
    const after = aTrigger({ ...firedBy(rule), triggeredAt: at(15) });
    const recorder = world.recorder();

    const answers = [];
    for (const trigger of [first, inside, inside, after]) answers.push(await recorder.record(trigger));

    expect(answers).toEqual(['queued', 'cooldown', 'known', 'queued']);
    expect(await world.history(inside)).toMatchObject({ action_result: 'cooldown', settled_at: START });
    expect(await deliveriesOf(rule.id)).toHaveLength(2);
    expect(await cooldownOf(first)).toMatchObject({
      trigger_count: 2,
      trigger_id: after.id,
      last_triggered_at: at(15),
    });
  });

  it('records a late trigger as cooldown if it is too close to a newer one, and as effective otherwise', async () => {
    const rule = await world.rule();
    const newer = aTrigger({ ...firedBy(rule), triggeredAt: at(60) });
    const older = aTrigger({ ...firedBy(rule), triggeredAt: at(50) });
    const muchOlder = aTrigger({ ...firedBy(rule), triggeredAt: at(30) });
    const besideMuchOlder = aTrigger({ ...firedBy(rule), triggeredAt: at(40) });
    const recorder = world.recorder();

    const answers = [];
    for (const trigger of [newer, older, muchOlder, besideMuchOlder]) answers.push(await recorder.record(trigger));

    expect(answers).toEqual(['queued', 'cooldown', 'queued', 'cooldown']);
    expect(await cooldownOf(newer)).toMatchObject({
      trigger_id: newer.id,
      last_triggered_at: at(60),
      cooling_until: at(75),
      trigger_count: 2,
    });
  });

  it('keeps the cooldowns of agents, dry runs and tenants separate', async () => {
    const rule = await world.rule();
    const foreign = await world.rule({ id: rule.id, tenantId: 'beta' });
    const triggers = [
      aTrigger(firedBy(rule)),
      aTrigger({ ...firedBy(rule), agentId: 'agent-2' }),
      aTrigger({ ...firedBy(rule), dryRun: true }),
      aTrigger(firedBy(foreign)),
    ];
    const answers = [];
    for (const trigger of triggers) answers.push(await world.recorder().record(trigger));
    expect(answers).toEqual(['queued', 'queued', 'dry_run', 'queued']);
  });

  it('records dry runs with their own cooldown and without a delivery', async () => {
    const rule = await world.rule({ dryRun: true });
    const first = aTrigger(firedBy(rule));
    const second = aTrigger({ ...firedBy(rule), triggeredAt: at(1) });

    expect(await world.recorder().record(first)).toBe('dry_run');
    expect(await world.recorder().record(second)).toBe('cooldown');
    expect(await deliveriesOf(rule.id)).toEqual([]);
    expect(await world.history(first)).toMatchObject({ action_result: 'dry_run', dry_run: true });
    const facts = await world.db.selectFrom('outbox').select('body').where('topic', '=', 'delivery.settled').execute();
    const settled = facts.map(({ body }) => DeliverySettled.parse(body)).filter(({ ruleId }) => ruleId === rule.id);
    expect(settled.map(({ triggerId, result }) => [triggerId, result])).toEqual([
      [first.id, 'dry_run'],
      [second.id, 'cooldown'],
    ]);
  });

  it('never cools down if the cooldown is zero', async () => {
    const rule = await world.rule({ cooldownMinutes: 0 });
    const triggers = Array.from({ length: 3 }, () => aTrigger(firedBy(rule)));
    for (const trigger of triggers) expect(await world.recorder().record(trigger)).toBe('queued');
    expect(await deliveriesOf(rule.id)).toHaveLength(3);
  });

  it('lets exactly one of many concurrent triggers through', async () => {
    const rule = await world.rule();
    const triggers = Array.from({ length: 24 }, (_, n) => aTrigger({ ...firedBy(rule), triggeredAt: at(n / 24) }));
    const replicas = [world.recorder(), world.recorder(), world.recorder()];

    const answers = await Promise.all(
      triggers.flatMap((trigger) => replicas.slice(0, 2).map((replica) => replica.record(trigger))),
    );

    expect(answers.filter((answer) => answer === 'queued')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'cooldown')).toHaveLength(23);
    expect(answers.filter((answer) => answer === 'known')).toHaveLength(24);
    expect(await deliveriesOf(rule.id)).toHaveLength(1);
    expect(await cooldownOf(aTrigger(firedBy(rule)))).toMatchObject({ trigger_count: 1 });
  });

  it('records every trigger once, with effective ones at least a cooldown apart, for any order of arrival', async () => {
    for (let seed = 1; seed <= 8; seed++) {
      const rule = await world.rule();
      const triggers = Array.from({ length: 20 }, (_, n) => aTrigger({ ...firedBy(rule), triggeredAt: at(n * 4) }));
      const arrivals = shuffled([...triggers, ...triggers], seed);
      for (const trigger of arrivals) await world.recorder().record(trigger);

      const done = await effective(triggers);
      const times = done.map(({ triggered_at }) => Date.parse(triggered_at));
      for (const [i, time] of times.entries()) {
        const previous = times[i - 1];
        if (previous !== undefined) expect(time - previous).toBeGreaterThanOrEqual(15 * MINUTE_MS);
      }
      const ids = (await deliveriesOf(rule.id)).map(({ trigger_id }) => trigger_id).sort();
      expect(ids).toEqual(done.map(({ trigger_id }) => trigger_id).sort());
      const kept = await world.db
        .selectFrom('guardrail_triggers')
        .select('trigger_id')
        .where('rule_id', '=', rule.id)
        .execute();
      expect(kept).toHaveLength(20);
      expect(await cooldownOf(aTrigger(firedBy(rule)))).toMatchObject({ trigger_count: done.length });
    }
  });

  it('gives the same guarantees for any split into batches', async () => {
    for (let seed = 1; seed <= 6; seed++) {
      const rule = await world.rule();
      const triggers = Array.from({ length: 20 }, (_, n) => aTrigger({ ...firedBy(rule), triggeredAt: at(n * 4) }));
      const arrivals = shuffled([...triggers, ...triggers], seed);
      const batches = Array.from({ length: 6 }, (_, n) => arrivals.slice(n * 7, n * 7 + 7));
      const answers = await Promise.all(batches.map((batch) => world.recorder().recordAll(batch)));

      const done = await effective(triggers);
      const times = done.map(({ triggered_at }) => Date.parse(triggered_at));
      for (const [i, time] of times.entries()) {
        const previous = times[i - 1];
        if (previous !== undefined) expect(time - previous).toBeGreaterThanOrEqual(15 * MINUTE_MS);
      }
      expect(answers.flat().filter((answer) => answer === 'known')).toHaveLength(20);
      expect(answers.flat().filter((answer) => answer === 'queued')).toHaveLength(done.length);
      const ids = (await deliveriesOf(rule.id)).map(({ trigger_id }) => trigger_id).sort();
      expect(ids).toEqual(done.map(({ trigger_id }) => trigger_id).sort());
      expect(await cooldownOf(aTrigger(firedBy(rule)))).toMatchObject({ trigger_count: done.length });
    }
  });

  it('records triggers of many rules and tenants at once, each with its own action', async () => {
    const rules = [
      await world.rule(),
      await world.rule({
        tenantId: 'beta',
        actionType: 'notify_webhook',
        actionConfig: { url: 'https://b.example/x' },
      }),
      await world.rule({ dryRun: true }),
    ];
    const triggers = rules.map((rule) => aTrigger(firedBy(rule)));
    const unknown = aTrigger({ ruleId: 'never-heard-of' });
    const recorder = world.recorder();

    const answers = await recorder.recordAll([...triggers, unknown, ...triggers]);

    expect(answers).toEqual(['queued', 'queued', 'dry_run', 'failed', 'known', 'known', 'known']);
    for (const [n, rule] of rules.slice(0, 2).entries()) {
      expect(await world.delivery(triggers[n] ?? unknown)).toMatchObject({
        tenant_id: rule.tenantId,
        action_type: rule.actionType,
        action_config: rule.actionConfig,
      });
    }
  });

  it("carries out the rule's current action, even after the rule was deleted", async () => {
    const rule = await world.rule({ actionType: 'downgrade_model', actionConfig: { targetModel: 'small' } });
    await world.deleteRule(rule);
    const trigger = aTrigger({ ...firedBy(rule), actionType: 'pause_agent' });

    expect(await world.recorder().record(trigger)).toBe('queued');
    expect(await world.delivery(trigger)).toMatchObject({
      action_type: 'downgrade_model',
      action_config: { targetModel: 'small' },
    });
    expect(await world.history(trigger)).toMatchObject({ action_type: 'downgrade_model' });
  });

  it('records a trigger of an unknown rule as failed', async () => {
    const trigger = aTrigger({ ruleId: 'never-written' });
    expect(await world.recorder().record(trigger)).toBe('failed');
    expect(await world.history(trigger)).toMatchObject({
      action_result: 'failed',
      action_detail: expect.stringMatching(/rule is unknown/),
    });
  });

  it('creates the monthly partition of a trigger', async () => {
    const rule = await world.rule();
    await world.recorder().record(aTrigger({ ...firedBy(rule), triggeredAt: '2031-07-15T00:00:00.000Z' }));
    const { rows } = await world.database.pool.query(
      `select tableoid::regclass::text as place from guardrail_triggers where rule_id = $1`,
      [rule.id],
    );
    expect(rows).toEqual([{ place: 'guardrail_triggers_20310701' }]);
  });
});

/** Fisher-Yates shuffle with a seeded generator, so that a failing order can be reproduced. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const out = [...items];
  let state = seed * 2_654_435_761;
  for (let i = out.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const j = state % (i + 1);
    const [a, b] = [out[i], out[j]];
    if (a !== undefined && b !== undefined) [out[i], out[j]] = [b, a];
  }
  return out;
}
