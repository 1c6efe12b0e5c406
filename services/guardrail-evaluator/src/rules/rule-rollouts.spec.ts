import { randomBytes } from 'node:crypto';
import type { GuardrailRule } from '@agentlens/contracts';
import { Promotion } from '@agentlens/contracts';
import { AesSecretBox } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryRules } from './memory-rules.testing.ts';
import { RuleRollouts } from './rule-rollouts.ts';
import { RuleWriter } from './rule-writer.ts';

const DRAFT = { name: 'No deletions', conditionType: 'tool_name', conditionConfig: { value: 'delete_*' } };
const BLOCK = { ...DRAFT, actionType: 'block', mode: 'shadow' };

let clock: ReturnType<typeof fixedClock>;
let table: MemoryRules;
let writer: RuleWriter;
let rollouts: RuleRollouts;

beforeEach(() => {
  clock = fixedClock();
  table = new MemoryRules();
  const box = new AesSecretBox([randomBytes(32).toString('base64')]);
  writer = new RuleWriter(table, box, { allow: [] }, clock, async () => undefined);
  rollouts = new RuleRollouts(writer, clock);
  table.figures = { ...table.figures, asked: 1_000, sinceMs: clock.now() - 48 * 3_600_000 };
});

async function created(body: object): Promise<GuardrailRule> {
  const answer = await writer.create('acme', body);
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

const promote = (rule: GuardrailRule, body: object, ref: object = {}) =>
  rollouts.promote({ tenantId: 'acme', ruleId: rule.id, ...ref }, Promotion.parse(body));
const sources = () => table.revisions.map(({ source }) => source);

describe('a promotion', () => {
  it('moves a rule that has shown enough, version by version', async () => {
    const rule = await created(BLOCK);
    expect(await promote(rule, { to: 'canary', percent: 10, reason: 'quiet week' })).toMatchObject({
      value: { version: 2, mode: 'canary', rollout: { percent: 10, by: 'tree' }, meaningVersion: 1 },
    });
    expect(await promote(rule, { to: 'canary', percent: 50 })).toMatchObject({ value: { rollout: { percent: 50 } } });
    const enforced = await promote(rule, { to: 'enforce' });
    expect(enforced).toMatchObject({ value: { version: 4, mode: 'enforce' } });
    expect(enforced.ok && enforced.value.rollout).toBeUndefined();
    expect(sources()).toEqual(['api', 'promotion', 'promotion', 'promotion']);
    expect(table.revisions[1]).toMatchObject({ reason: 'quiet week' });
  });

  it('lists what the guard still requires, and changes nothing', async () => {
    const rule = await created(BLOCK);
    table.figures = { ...table.figures, asked: 3 };
    expect(await promote(rule, { to: 'canary', percent: 10 })).toMatchObject({
      problem: { status: 409, details: [{ path: 'guard.minAsked', message: expect.stringContaining('has 3') }] },
    });
    expect(table.first.version).toBe(1);
  });

  it('with force needs a reason, which the version keeps', async () => {
    const rule = await created(BLOCK);
    table.figures = { ...table.figures, asked: 0 };
    expect(Promotion.safeParse({ to: 'enforce', force: true }).error?.issues).toMatchObject([{ path: ['reason'] }]);
    expect(await promote(rule, { to: 'enforce', force: true, reason: 'an attack' })).toMatchObject({ ok: true });
    expect(table.revisions[1]).toMatchObject({ reason: 'Forced: an attack', source: 'promotion' });
  });

  it('down needs no evidence', async () => {
    const rule = await created({ ...BLOCK, mode: 'enforce' });
    table.figures = { ...table.figures, asked: 0 };
    expect(await promote(rule, { to: 'shadow' })).toMatchObject({ value: { mode: 'shadow' } });
  });

  it('at the same time as another one is refused with 412', async () => {
    const rule = await created(BLOCK);
    expect(await promote(rule, { to: 'canary', percent: 10 }, { ifVersion: 1 })).toMatchObject({ ok: true });
    expect(await promote(rule, { to: 'enforce' }, { ifVersion: 1 })).toMatchObject({
      problem: { status: 412, currentVersion: 2 },
    });
  });

  it('of a deleted rule is refused with 404', async () => {
    const rule = await created(BLOCK);
    await writer.delete({ tenantId: 'acme', ruleId: rule.id });
    expect(await promote(rule, { to: 'enforce' })).toMatchObject({ problem: { status: 404 } });
  });

  it.each([
    [{ to: 'canary' }, 'percent'],
    [{ to: 'canary', percent: 0 }, 'percent'],
    [{ to: 'enforce', percent: 5 }, 'percent'],
    [{ to: 'shadow', by: 'run' }, 'by'],
    [{ to: 'off' }, 'to'],
  ])('by %j names the field %s', (body, field) => {
    expect(Promotion.safeParse(body).error?.issues).toMatchObject([{ path: [field] }]);
  });

  it('is the only way up for a rule with a guard of its own', async () => {
    const rule = await created({ ...BLOCK, guard: { minAsked: 5 } });
    const ref = { tenantId: 'acme', ruleId: rule.id };
    expect(await writer.update(ref, { mode: 'enforce' })).toMatchObject({ problem: { status: 409 } });
    expect(await writer.update(ref, { priority: 1 })).toMatchObject({ ok: true });
    expect(await promote(rule, { to: 'enforce' })).toMatchObject({ ok: true });
  });
});

describe('a rollback', () => {
  it('happens once, and only for the version that exceeded its bound', async () => {
    const rule = await created({ ...BLOCK, mode: 'canary', rollout: { percent: 5 } });
    const back = () => rollouts.takeBack({ tenantId: 'acme', ruleId: rule.id, ifVersion: 1, reason: 'too much' });
    const answers = [await back(), await back(), await back()];
    expect(answers.map(({ ok }) => ok)).toEqual([true, false, false]);
    expect(table.first).toMatchObject({ version: 2, mode: 'shadow', meaningVersion: 1 });
    expect(table.first.rollout).toBeUndefined();
    expect(table.revisions[1]).toMatchObject({ source: 'rollback', reason: 'too much' });
  });
});

describe('a suspension', () => {
  const hours = (n: number) => new Date(clock.now() + n * 3_600_000).toISOString();

  it('is possible for a rule of a ruleset, and survives other changes until it ends', async () => {
    const rule = await created(BLOCK);
    table.rows.set(`acme ${rule.id}`, { ...table.first, key: 'k', ruleset: 'main', appliedVersion: 1 });
    const ref = { tenantId: 'acme', ruleId: rule.id };
    const suspended = { until: hours(2), reason: 'incident' };
    expect(await rollouts.suspend(ref, suspended)).toMatchObject({ value: { version: 2, suspended } });
    expect(await writer.update({ ...ref, override: 'x' }, { priority: 1 })).toMatchObject({ value: { suspended } });
    const resumed = await rollouts.suspend(ref, null);
    expect(resumed.ok && resumed.value.suspended).toBeUndefined();
    expect(sources()).toEqual(['api', 'suspension', 'api', 'suspension']);
  });

  it.each([
    [0, 'in the future'],
    [31 * 24, 'within 30 days'],
  ])('that ends in %i hours is refused', async (n, message) => {
    const rule = await created(BLOCK);
    const answer = await rollouts.suspend({ tenantId: 'acme', ruleId: rule.id }, { until: hours(n), reason: 'r' });
    expect(answer).toMatchObject({ problem: { status: 400, details: [{ path: 'until' }] } });
    expect(JSON.stringify(answer)).toContain(message);
  });
});
