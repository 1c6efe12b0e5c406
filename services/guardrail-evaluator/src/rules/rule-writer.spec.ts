import { randomBytes } from 'node:crypto';
import type { GuardrailRule } from '@agentlens/contracts';
import { AesSecretBox } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryRules } from './memory-rules.testing.ts';
import { MAX_PATTERN_RULES } from './rule-refusals.ts';
import { RuleWriter } from './rule-writer.ts';

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const DRAFT = {
  name: 'Errors',
  conditionType: 'error_rate_threshold',
  actionType: 'notify_webhook',
  actionConfig: { url: 'https://93.184.216.34/in', secret: SECRET, headers: { authorization: 'Bearer 0123456789' } },
};

const box = new AesSecretBox([randomBytes(32).toString('base64')]);
let clock: ReturnType<typeof fixedClock>;
let table: MemoryRules;
let changes: string[];
let writer: RuleWriter;

beforeEach(() => {
  clock = fixedClock();
  table = new MemoryRules();
  changes = [];
  writer = new RuleWriter(table, box, { allow: [] }, clock, async (tenantId) => changes.push(tenantId));
});

async function created(body: unknown = DRAFT): Promise<GuardrailRule> {
  const answer = await writer.create('acme', body);
  if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
  return answer.value;
}

const storedSecret = () =>
  box.open(String(table.first.actionConfig.secret), ['acme', 'guardrail_rules', table.first.id]);

describe('creating a rule', () => {
  it('stores version 1 with sealed secrets and shows them masked', async () => {
    const rule = await created();
    expect(rule).toMatchObject({ tenantId: 'acme', version: 1, cooldownMinutes: 15, dryRun: false, enabled: true });
    expect(rule.actionConfig).toEqual({
      url: DRAFT.actionConfig.url,
      secret: `***${SECRET.slice(-4)}`,
      headers: { authorization: '***6789' },
    });
    expect(JSON.stringify([...table.rows.values()])).not.toContain(SECRET);
    expect(storedSecret()).toBe(SECRET);
    expect(changes).toEqual(['acme']);
  });

  it.each([
    'http://127.0.0.1/hook',
    'http://localhost/hook',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/',
    'http://2130706433/',
  ])('rejects a webhook to %s', async (url) => {
    const answer = await writer.create('acme', { ...DRAFT, actionConfig: { url } });
    expect(answer).toMatchObject({
      ok: false,
      problem: { status: 400, details: [{ path: 'actionConfig.url', message: expect.any(String) }] },
    });
    expect(changes).toEqual([]);
  });

  it('accepts addresses that the operator allows', async () => {
    const lenient = new RuleWriter(table, box, { allow: ['127.0.0.1/32'] }, clock, async () => undefined);
    const body = { ...DRAFT, actionConfig: { url: 'http://127.0.0.1:8080/hook' } };
    expect(await lenient.create('acme', body)).toMatchObject({ ok: true });
  });

  it('reports what is wrong with a draft', async () => {
    expect(await writer.create('acme', { ...DRAFT, name: '' })).toMatchObject({ ok: false, problem: { status: 400 } });
  });
});

describe('changing a rule', () => {
  it('raises the version and keeps unmentioned fields', async () => {
    const rule = await created();
    clock.advance(1_000);
    const answer = await writer.update({ tenantId: 'acme', ruleId: rule.id }, { enabled: false });
    expect(answer).toMatchObject({ ok: true, value: { version: 2, enabled: false, createdAt: rule.createdAt } });
    expect(table.first.updatedAt > rule.updatedAt).toBe(true);
    expect(storedSecret()).toBe(SECRET);
  });

  it('keeps a secret that is sent back masked, but not for another address', async () => {
    const rule = await created();
    expect(await writer.update({ tenantId: 'acme', ruleId: rule.id }, { ...rule, name: 'New' })).toMatchObject({
      ok: true,
    });
    expect([storedSecret(), table.first.name]).toEqual([SECRET, 'New']);
    const actionConfig = { ...rule.actionConfig, url: 'https://93.184.216.34/other' };
    expect(await writer.update({ tenantId: 'acme', ruleId: rule.id }, { ...rule, actionConfig })).toMatchObject({
      ok: false,
    });
    expect(table.first.actionConfig.url).toBe(rule.actionConfig.url);
  });

  it('rejects a private address, and does not check an existing one again', async () => {
    const lenient = new RuleWriter(table, box, { allow: ['127.0.0.1/32'] }, clock, async () => undefined);
    const answer = await lenient.create('acme', { ...DRAFT, actionConfig: { url: 'http://127.0.0.1:8080/a' } });
    if (!answer.ok) throw new Error('expected a rule');
    const { id } = answer.value;
    expect(await writer.update({ tenantId: 'acme', ruleId: id }, { enabled: false })).toMatchObject({ ok: true });
    expect(
      await writer.update({ tenantId: 'acme', ruleId: id }, { actionConfig: { url: 'http://127.0.0.1:8080/b' } }),
    ).toMatchObject({
      ok: false,
    });
  });

  it('rejects what it would reject in a draft', async () => {
    const { id } = await created();
    expect(
      await writer.update({ tenantId: 'acme', ruleId: id }, { conditionConfig: { threshold: 500 } }),
    ).toMatchObject({
      ok: false,
      problem: { details: [{ path: 'conditionConfig.threshold' }] },
    });
    expect(table.first.version).toBe(1);
  });
});

describe('a rule that does not exist', () => {
  it.each(['nobody', 'a\u0000b', '', 'x'.repeat(200)])('is not found: %j', async (id) => {
    const notFound = { ok: false, problem: { error: 'Guardrail rule not found', status: 404 } };
    expect(await writer.update({ tenantId: 'acme', ruleId: id }, {})).toEqual(notFound);
    expect(await writer.delete({ tenantId: 'acme', ruleId: id })).toEqual(notFound);
  });

  it('is not found by another tenant', async () => {
    const { id } = await created();
    expect(await writer.update({ tenantId: 'other', ruleId: id }, { enabled: false })).toMatchObject({
      problem: { status: 404 },
    });
    expect(await writer.delete({ tenantId: 'other', ruleId: id })).toMatchObject({ problem: { status: 404 } });
    expect(await writer.delete({ tenantId: 'acme', ruleId: id })).toEqual({ ok: true, value: { ok: true } });
    expect(changes).toEqual(['acme', 'acme']);
  });
});

describe('importPolicy', () => {
  const RULE = {
    name: 'No deploys',
    selector: { phase: 'tool.before', tool: { name: 'deploy*' } },
    condition: { kind: 'toolTag', op: 'has', tag: 'prod' },
    effect: { type: 'block' },
  };
  const imported = (...rules: object[]) => writer.importPolicy('acme', { policy: { name: 'House rules' }, rules });

  it('stores all rules of a policy as ordinary rules', async () => {
    const answer = await imported(RULE, { ...RULE, name: 'Nor this' });
    expect(answer).toMatchObject({
      ok: true,
      value: { policyId: expect.any(String), rules: [{ name: 'No deploys', version: 1 }, { name: 'Nor this' }] },
    });
    const policyIds = new Set([...table.rows.values()].map(({ policyId }) => policyId));
    expect([...policyIds]).toEqual([answer.ok ? answer.value.policyId : '']);
    expect(table.rows.size).toBe(2);
    expect(changes).toEqual(['acme']);
  });

  it('stores nothing of an invalid policy and reports where the mistake is', async () => {
    expect(await imported(RULE, { ...RULE, effect: { type: 'deny' } })).toMatchObject({
      ok: false,
      problem: { status: 400, details: [{ path: 'rules.1.effect.type' }] },
    });
    expect(table.rows.size).toBe(0);
    expect(changes).toEqual([]);
  });
});

describe('regular expressions of a tenant', () => {
  const withOperator = (operator: string) => ({
    ...{ name: 'Pattern', actionType: 'block', conditionType: 'tool_argument' },
    conditionConfig: { path: 'to', operator, value: 'x' },
  });
  beforeEach(async () => {
    for (let i = 0; i < MAX_PATTERN_RULES; i++) await created(withOperator('regex'));
  });
  const refusal = {
    ok: false,
    problem: {
      status: 400,
      details: [{ path: 'conditionConfig.value', message: expect.stringContaining('at most 50 rules') }],
      hint: expect.stringContaining('contains'),
    },
  };

  it('are limited to a number of rules, new or changed', async () => {
    expect(await writer.create('acme', withOperator('regex'))).toMatchObject(refusal);
    const plain = await created(withOperator('contains'));
    const change = { conditionConfig: { path: 'to', operator: 'regex', value: 'x' } };
    expect(await writer.update({ tenantId: 'acme', ruleId: plain.id }, change)).toMatchObject(refusal);
    expect(table.rows.size).toBe(MAX_PATTERN_RULES + 1);
  });

  it('can be changed in rules that have them, and added after one was removed', async () => {
    const { id } = table.first;
    const change = { conditionConfig: { path: 'to', operator: 'regex', value: 'y+' } };
    expect(await writer.update({ tenantId: 'acme', ruleId: id }, change)).toMatchObject({ ok: true });
    await writer.delete({ tenantId: 'acme', ruleId: id });
    expect(await writer.create('acme', withOperator('regex'))).toMatchObject({ ok: true });
  });

  it('count for an imported policy too, which is stored completely or not at all', async () => {
    await writer.delete({ tenantId: 'acme', ruleId: table.first.id });
    const rule = (regex: boolean) => ({
      ...{
        name: 'R',
        priority: 1,
        effect: { type: 'block', reason: 'No' },
        selector: { phase: 'tool.before', tool: { name: '*' } },
      },
      condition: { kind: 'toolArg', type: 'string', path: 'to', op: regex ? 'regex' : 'contains', value: 'x' },
    });
    const body = (rules: unknown[]) => ({ policy: { name: 'P' }, rules });
    const answer = await writer.importPolicy('acme', body([rule(true), rule(true)]));
    expect(answer).toMatchObject({ ok: false, problem: { status: 400, details: [{ path: 'rules.0' }] } });
    expect(table.rows.size).toBe(MAX_PATTERN_RULES - 1);
    expect(await writer.importPolicy('acme', body([rule(true), rule(false)]))).toMatchObject({ ok: true });
  });
});

describe('versions of a rule', () => {
  const JO = { by: 'jo (key-1)', reason: 'too loud' };
  const ref = (rule: GuardrailRule, more: object = {}) => ({ tenantId: 'acme', ruleId: rule.id, ...more });

  it('record author, content, source and reason of a change', async () => {
    const rule = await created();
    await writer.update(ref(rule, JO), { name: 'Quiet', agentId: 'bot', conditionConfig: { threshold: 60 } });
    await writer.delete(ref(rule, { by: 'sam' }));
    expect(table.revisions).toMatchObject([
      { source: 'api', deleted: false, changes: [], rule: { version: 1 } },
      {
        ...{ ...JO, source: 'api', deleted: false, rule: { version: 2, name: 'Quiet' } },
        changes: [
          { path: 'agentId', to: 'bot' },
          { path: 'conditionConfig.threshold', from: 30, to: 60 },
          { path: 'name', from: 'Errors', to: 'Quiet' },
        ],
      },
      { by: 'sam', deleted: true, changes: [], rule: { version: 3, name: 'Quiet' } },
    ]);
  });

  it('contain no secret, neither in the rule nor in the changes', async () => {
    const rule = await created();
    const secret = `whsec_${Buffer.alloc(32, 4).toString('base64')}`;
    await writer.update(ref(rule), { actionConfig: { ...DRAFT.actionConfig, secret } });
    await writer.delete(ref(rule));
    expect(table.revisions[1]?.changes).toEqual([{ path: 'actionConfig.secret', secret: true }]);
    expect(JSON.stringify(table.revisions)).not.toContain(secret);
    expect(JSON.stringify(table.revisions)).not.toContain(SECRET);
  });

  it('can be restored as a new version, with their secrets', async () => {
    const rule = await created();
    await writer.update(ref(rule), { name: 'Other', actionType: 'pause_agent' });
    const answer = await writer.revert(ref(rule, JO), 1);
    expect(answer).toMatchObject({ ok: true, value: { version: 3, name: 'Errors', createdAt: rule.createdAt } });
    expect(storedSecret()).toBe(SECRET);
    expect(table.revisions[2]).toMatchObject({ ...JO, source: 'revert' });
    expect(await writer.revert(ref(rule), 9)).toMatchObject({
      problem: { status: 404, error: 'Version 9 of this rule is not recorded' },
    });
  });

  it('guard a change: a change for another version is rejected with the current one', async () => {
    const rule = await created();
    await writer.update(ref(rule, { ifVersion: 1 }), { priority: 1 });
    const refused = { ok: false, problem: { status: 412, currentVersion: 2, details: [{ path: 'If-Match' }] } };
    const outdated = ref(rule, { ifVersion: 1 });
    expect(await writer.update(outdated, { priority: 2 })).toMatchObject(refused);
    expect(await writer.revert(outdated, 1)).toMatchObject(refused);
    expect(await writer.delete(outdated)).toMatchObject(refused);
    expect(table.first).toMatchObject({ version: 2, priority: 1 });
    expect(await writer.delete(ref(rule, { ifVersion: 2 }))).toMatchObject({ ok: true });
  });
});

describe('the meaning of a rule', () => {
  it('changes with what the rule checks or does, and not with its rollout', async () => {
    const { id: ruleId } = await created({ ...DRAFT, mode: 'shadow' });
    const versions: unknown[] = [];
    for (const body of [
      { mode: 'canary', rollout: { percent: 5 } },
      { rollout: { percent: 10 } },
      { conditionConfig: { threshold: 7 } },
      { mode: 'enforce', name: 'Other' },
    ]) {
      const answer = await writer.update({ tenantId: 'acme', ruleId }, body);
      if (!answer.ok) throw new Error(JSON.stringify(answer.problem));
      versions.push([answer.value.version, answer.value.meaningVersion]);
    }
    expect(versions).toEqual([
      [2, 1],
      [3, 1],
      [4, 4],
      [5, 4],
    ]);
  });
});
