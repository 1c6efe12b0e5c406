import { randomBytes } from 'node:crypto';
import type { RulesetPlan } from '@agentlens/contracts';
import { AesSecretBox } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryRules } from './memory-rules.testing.ts';
import { RuleWriter } from './rule-writer.ts';
import { RulesetWriter } from './ruleset-writer.ts';

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const BLOCK = {
  ...{ name: 'No deploys', conditionType: 'tool_name', actionType: 'block' },
  conditionConfig: { operator: 'glob', value: 'deploy*' },
};
const REF = { tenantId: 'acme', ruleset: 'house', by: 'ci (key-9)' };

let clock: ReturnType<typeof fixedClock>;
let table: MemoryRules;
let announced: number;
let writer: RuleWriter;
let rulesets: RulesetWriter;

beforeEach(() => {
  const box = new AesSecretBox([randomBytes(32).toString('base64')]);
  clock = fixedClock();
  table = new MemoryRules();
  announced = 0;
  const changed = async () => {
    announced += 1;
  };
  writer = new RuleWriter(table, box, { allow: [] }, clock, changed);
  rulesets = new RulesetWriter(table, box, { allow: [] }, clock, changed);
});

async function planned(rules: object[], prune = false, ref = REF): Promise<RulesetPlan> {
  const answer = await rulesets.plan(ref, { rules, prune });
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

async function applied(rules: object[], prune = false, ref = REF): Promise<RulesetPlan> {
  const { basis } = await planned(rules, prune, ref);
  const answer = await rulesets.apply(ref, { rules, prune, basis });
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

const actionsOf = ({ changes }: RulesetPlan) => Object.fromEntries(changes.map(({ key, action }) => [key, action]));
const rule = (key: string, fields: object = {}) => ({ key, ...BLOCK, ...fields });
const stored = (key: string) => {
  const found = [...table.rows.values()].find((one) => one.key === key);
  if (found === undefined) throw new Error(`no rule ${key}`);
  return found;
};

describe('a plan', () => {
  it('lists what would be created, changed and kept, by field, and changes nothing', async () => {
    await applied([rule('a'), rule('b'), rule('c')]);
    const before = table.revisions.length;
    const plan = await planned([rule('a'), rule('b', { name: 'Other', priority: 3 }), rule('d')]);
    expect(actionsOf(plan)).toEqual({ a: 'none', b: 'update', d: 'create' });
    expect(plan.changes[1]?.changes).toEqual([
      { path: 'name', from: 'No deploys', to: 'Other' },
      { path: 'priority', from: 0, to: 3 },
    ]);
    expect(plan.unlisted).toEqual(['c']);
    expect(table.revisions).toHaveLength(before);
  });

  it.each<[string, object, 'yes' | 'maybe' | undefined]>([
    ['is disabled', { enabled: false }, 'yes'],
    ['switches to shadow mode', { mode: 'shadow' }, 'yes'],
    ['has a weaker action', { actionType: 'require_approval' }, 'yes'],
    ['allows calls without the argument', { onMissing: 'allow' }, 'yes'],
    ['applies to one agent only', { agentId: 'bot' }, 'yes'],
    ['has another condition', { conditionConfig: { operator: 'glob', value: 'deploy_prod' } }, 'maybe'],
    ['has a stronger action', { actionType: 'terminate_run' }, 'maybe'],
    ['is renamed', { name: 'Other' }, undefined],
  ])('reports whether a rule that %s is loosened', async (_name, change, loosens) => {
    await applied([rule('a', { onMissing: 'block' })]);
    const plan = await planned([rule('a', { onMissing: 'block', ...change })]);
    expect(plan.changes[0]?.loosens).toBe(loosens);
  });

  it('contains no secret', async () => {
    const hook = (secret: string) =>
      rule('hook', {
        ...{ conditionType: 'cost_limit', conditionConfig: {}, actionType: 'notify_webhook' },
        actionConfig: { url: 'https://93.184.216.34/in', secret },
      });
    await applied([hook(SECRET)]);
    const plan = await planned([hook(`whsec_${Buffer.alloc(32, 4).toString('base64')}`)]);
    expect(plan.changes[0]?.changes).toEqual([{ path: 'actionConfig.secret', secret: true }]);
    expect(JSON.stringify([plan, table.revisions])).not.toContain('whsec_');
    expect(actionsOf(await planned([hook(SECRET)]))).toEqual({ hook: 'none' });
  });

  it('reports every problem with its place', async () => {
    await applied([rule('a')], false, { ...REF, ruleset: 'other' });
    const { problems } = await planned([rule('x', { nme: 1 }), rule('y', { actionType: 'blok' })]);
    expect(problems.map(({ path }) => path)).toEqual(['rules.0.nme', 'rules.1.actionType']);
    expect((await planned([rule('a')])).problems).toEqual([
      { path: 'rules.0.key', message: expect.stringContaining('belongs to the ruleset "other"') },
    ]);
    expect((await planned([rule('b'), rule('b')])).problems).toHaveLength(1);
    expect((await planned([rule('z', { adopt: 'nobody' })])).problems[0]?.path).toBe('rules.0.adopt');
  });
});

describe('applying', () => {
  it('carries out the plan, and does nothing when repeated', async () => {
    const rules = [rule('a'), rule('b')];
    await applied(rules);
    expect(stored('a')).toMatchObject({ ruleset: 'house', version: 1, appliedVersion: 1 });
    expect(table.revisions[0]).toMatchObject({ source: 'ruleset', by: 'ci (key-9)' });
    const [count, news] = [table.revisions.length, announced];
    expect(actionsOf(await applied(rules))).toEqual({ a: 'none', b: 'none' });
    // A retry after a lost answer has the old basis.
    expect(await rulesets.apply(REF, { rules, basis: {} })).toMatchObject({ ok: true });
    expect([table.revisions.length, announced]).toEqual([count, news]);
  });

  it('deletes only rules of its own, and only if pruning is on', async () => {
    await writer.create('acme', BLOCK);
    await applied([rule('x')], false, { ...REF, ruleset: 'other' });
    await applied([rule('a'), rule('b')]);
    expect(actionsOf(await applied([rule('a')]))).toEqual({ a: 'none' });
    expect(actionsOf(await applied([rule('a')], true))).toEqual({ a: 'none', b: 'delete' });
    expect([...table.rows.values()].map(({ key }) => key)).toEqual([undefined, 'x', 'a']);
  });

  it('is rejected if a rule changed since the plan, with author, changes and reason', async () => {
    await applied([rule('a'), rule('b')]);
    const { basis } = await planned([rule('a', { priority: 1 })]);
    clock.advance(60_000);
    const ref = { tenantId: 'acme', ruleId: stored('a').id, by: 'jo (key-1)' };
    await writer.update({ ...ref, override: 'night shift' }, { priority: 7 });
    await writer.delete({ ...ref, ruleId: stored('b').id, override: 'not needed' });
    const before = table.revisions.length;
    const answer = await rulesets.apply(REF, { rules: [rule('a', { priority: 1 })], basis });
    expect(answer).toMatchObject({ ok: false, problem: { status: 409, hint: expect.stringContaining('Plan again') } });
    const details = answer.ok ? [] : (answer.problem.details ?? []);
    expect(details).toEqual([
      {
        path: 'a',
        message: expect.stringMatching(/^was changed by jo \(key-1\) at .*: priority 0 → 7 \("night shift"\)/),
      },
      { path: 'b', message: expect.stringMatching(/^was deleted by jo \(key-1\) at .* \("not needed"\)/) },
    ]);
    expect(table.revisions).toHaveLength(before);
  });

  it('takes over an unmanaged rule and keeps its id', async () => {
    const made = await writer.create('acme', BLOCK);
    if (!made.ok) throw new Error('expected a rule');
    const { id } = made.value;
    expect(actionsOf(await applied([rule('a', { adopt: id })]))).toEqual({ a: 'adopt' });
    expect(stored('a')).toMatchObject({ id, ruleset: 'house', version: 2 });
    expect(actionsOf(await planned([rule('a', { adopt: id })]))).toEqual({ a: 'none' });
    expect(actionsOf(await planned([rule('a')]))).toEqual({ a: 'none' });
  });

  it('rejects an invalid ruleset with the place of each problem', async () => {
    expect(await rulesets.apply(REF, { rules: [rule('A b')], basis: {} })).toMatchObject({
      problem: { status: 400, details: [{ path: 'rules.0.key' }] },
    });
    expect(await rulesets.apply({ ...REF, ruleset: 'No Name' }, { rules: [], basis: {} })).toMatchObject({
      problem: { status: 400 },
    });
    expect(table.rows.size).toBe(0);
  });

  it('leaves nothing to do for the next plan, for any ruleset and any earlier state', async () => {
    const someRules = fc.uniqueArray(
      fc.record({
        key: fc.constantFrom('a', 'b', 'c', 'd'),
        priority: fc.integer({ min: 0, max: 3 }),
        mode: fc.constantFrom('enforce', 'shadow', 'off'),
        agentId: fc.constantFrom(undefined, null, 'bot'),
      }),
      { selector: ({ key }) => key },
    );
    await fc.assert(
      fc.asyncProperty(someRules, someRules, fc.boolean(), async (first, second, prune) => {
        table.rows.clear();
        const drafts = (rules: typeof first) => rules.map(({ key, ...fields }) => rule(key, fields));
        await applied(drafts(first));
        await applied(drafts(second), prune);
        const again = await planned(drafts(second), prune);
        expect(new Set(Object.values(actionsOf(again)))).toEqual(new Set(second.length === 0 ? [] : ['none']));
      }),
      { numRuns: 50 },
    );
  });
});

describe('a managed rule', () => {
  const ref = () => ({ tenantId: 'acme', ruleId: stored('a').id, by: 'jo' });
  beforeEach(() => applied([rule('a')]));

  it('can be changed elsewhere only with a reason; otherwise the error names its ruleset', async () => {
    const refused = { ok: false, problem: { status: 409, error: expect.stringContaining('ruleset "house"') } };
    expect(await writer.update(ref(), { priority: 1 })).toMatchObject(refused);
    expect(await writer.delete(ref())).toMatchObject(refused);
    expect(await writer.revert(ref(), 1)).toMatchObject(refused);
    expect(await writer.update({ ...ref(), override: 'incident' }, { priority: 1 })).toMatchObject({ ok: true });
    expect(table.revisions.at(-1)).toMatchObject({ reason: 'incident', rule: { key: 'a', ruleset: 'house' } });
  });

  it('shows changes made elsewhere as drift until the ruleset is applied again', async () => {
    await writer.update({ ...ref(), override: 'incident' }, { priority: 1 });
    const { changes } = await planned([rule('a')]);
    const change = { path: 'priority', from: 0, to: 1 };
    expect(changes[0]?.drift).toMatchObject([{ version: 2, changedBy: 'jo', reason: 'incident', changes: [change] }]);
    await applied([rule('a', { priority: 1 })]);
    expect(stored('a')).toMatchObject({ version: 2, appliedVersion: 2 });
    expect((await planned([rule('a', { priority: 1 })])).changes[0]?.drift).toEqual([]);
  });

  it('becomes unmanaged when its ruleset is released', async () => {
    expect(await rulesets.release(REF)).toEqual({ ok: true, value: { released: 1 } });
    expect(await writer.update(ref(), { priority: 1 })).toMatchObject({ ok: true, value: { key: 'a' } });
    expect(await rulesets.release(REF)).toMatchObject({ problem: { status: 404 } });
    expect(actionsOf(await planned([rule('a')]))).toEqual({ a: 'adopt' });
  });
});
