import { COMMANDS, type RulesetPlan } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Harness, openHarness } from './harness.ts';

const RULE = {
  ...{ name: 'No deploys', conditionType: 'tool_name', actionType: 'block' },
  conditionConfig: { operator: 'glob', value: 'deploy*' },
};
const rule = (key: string, fields: object = {}) => ({ key, ...RULE, ...fields });

let harness: Harness;
let tenants = 0;

beforeAll(async () => {
  harness = await openHarness();
  await harness.replica();
  await harness.replica();
});
afterAll(() => harness.close());

/** A ruleset in its own tenant, and two replicas that can change it. */
function aRuleset() {
  tenants += 1;
  const ref = { tenantId: `tenant-${tenants}`, ruleset: 'house' };
  const plan = async (rules: object[], prune = false): Promise<RulesetPlan> => {
    const answer = await harness.bus.request(COMMANDS.planRuleset, { ...ref, body: { rules, prune } });
    if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
    return answer.value;
  };
  const apply = (rules: object[], basis: object, by = 'ci') =>
    harness.bus.request(COMMANDS.applyRuleset, { ...ref, by, body: { rules, basis } });
  return { ...ref, plan, apply };
}

describe('a ruleset', () => {
  it('is applied by one of two concurrent clients; the other gets a conflict that names the first', async () => {
    const { plan, apply } = aRuleset();
    await apply([rule('a')], {});
    const { basis } = await plan([rule('a', { priority: 1 })]);
    const answers = await Promise.all([
      apply([rule('a', { priority: 1 })], basis, 'one'),
      apply([rule('a', { priority: 2 })], basis, 'two'),
    ]);
    const [won] = answers.filter(({ ok }) => ok);
    const refused = answers.find(({ ok }) => !ok);
    expect(won).toMatchObject({ ok: true });
    const first = answers[0]?.ok ? 'one' : 'two';
    expect(refused).toMatchObject({
      problem: { status: 409, details: [{ path: 'a', message: expect.stringContaining(`was changed by ${first}`) }] },
    });
  });

  it('reports from the record what others changed and deleted since the plan', async () => {
    const { tenantId, plan, apply } = aRuleset();
    await apply([rule('a'), rule('b'), rule('c')], {});
    const { basis, changes } = await plan([rule('a', { priority: 1 })]);
    const idOf = async (key: string) => (await plan([rule(key)])).changes[0]?.ruleId ?? '';
    const by = 'jo';
    expect(changes[0]).toMatchObject({ action: 'update' });
    const change = { tenantId, by, override: 'night shift' };
    await harness.bus.request(COMMANDS.updateRule, { ...change, ruleId: await idOf('a'), body: { priority: 7 } });
    await harness.bus.request(COMMANDS.deleteRule, { ...change, ruleId: await idOf('b') });
    const answer = await apply([rule('a', { priority: 1 })], basis);
    const details = answer.ok ? [] : answer.problem.details;
    expect(details).toEqual([
      { path: 'a', message: expect.stringContaining('was changed by jo') },
      { path: 'b', message: expect.stringContaining('was deleted by jo') },
    ]);
    expect((await plan([rule('a')])).changes[0]?.drift).toMatchObject([
      { version: 2, changedBy: 'jo', reason: 'night shift', changes: [{ path: 'priority', from: 0, to: 7 }] },
    ]);
  });

  it('may hold a thousand rules, which are stored together', async () => {
    const { tenantId, apply } = aRuleset();
    const rules = Array.from({ length: 1_000 }, (_, at) => rule(`rule-${at}`));
    expect(await apply(rules, {})).toMatchObject({ ok: true });
    const counted = await harness.database.db
      .selectFrom('rule_versions')
      .select((eb) => eb.fn.countAll<number>().as('versions'))
      .where('tenant_id', '=', tenantId)
      .executeTakeFirstOrThrow();
    expect(counted).toEqual({ versions: 1_000 });
    const broken = [...rules.slice(0, 500), rule('rule-7'), ...rules.slice(500)];
    expect(await apply(broken, {})).toMatchObject({ ok: false });
  });
});
