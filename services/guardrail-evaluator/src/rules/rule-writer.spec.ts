import { randomBytes } from 'node:crypto';
import type { GuardrailRule } from '@agentlens/contracts';
import { AesSecretBox } from '@agentlens/platform';
import { fixedClock } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MOST_PATTERN_RULES, type OtherRules } from './pattern-quota.ts';
import { RuleWriter } from './rule-writer.ts';

/** The table, as far as the writer writes it. */
class Table {
  readonly rows = new Map<string, GuardrailRule>();

  async insert<R>(
    rules: readonly GuardrailRule[],
    refused: (others: OtherRules) => Promise<R | null>,
  ): Promise<R | null> {
    const refusal = await refused(this.others);
    if (refusal === null) for (const rule of rules) this.rows.set(`${rule.tenantId} ${rule.id}`, rule);
    return refusal;
  }

  async update<T>(
    tenantId: string,
    ruleId: string,
    change: (rule: GuardrailRule, others: OtherRules) => Promise<{ rule: GuardrailRule | null; answer: T }>,
  ): Promise<T | null> {
    const existing = this.rows.get(`${tenantId} ${ruleId}`);
    if (existing === undefined) return null;
    const { rule, answer } = await change(existing, this.others);
    if (rule !== null) this.rows.set(`${tenantId} ${ruleId}`, rule);
    return answer;
  }

  readonly others: OtherRules = async () => [...this.rows.values()];

  async markDeleted(tenantId: string, ruleId: string): Promise<boolean> {
    return this.rows.delete(`${tenantId} ${ruleId}`);
  }

  get first(): GuardrailRule {
    const [rule] = this.rows.values();
    if (rule === undefined) throw new Error('no rule was stored');
    return rule;
  }
}

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
const DRAFT = {
  name: 'Errors',
  conditionType: 'error_rate_threshold',
  actionType: 'notify_webhook',
  actionConfig: { url: 'https://93.184.216.34/in', secret: SECRET, headers: { authorization: 'Bearer 0123456789' } },
};

const box = new AesSecretBox([randomBytes(32).toString('base64')]);
let clock: ReturnType<typeof fixedClock>;
let table: Table;
let changes: string[];
let writer: RuleWriter;

beforeEach(() => {
  clock = fixedClock();
  table = new Table();
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
  it('stores version 1, seals the secrets and shows them masked', async () => {
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
  ])('refuses to call %s', async (url) => {
    const answer = await writer.create('acme', { ...DRAFT, actionConfig: { url } });
    expect(answer).toMatchObject({
      ok: false,
      problem: { status: 400, details: [{ path: 'actionConfig.url', message: expect.any(String) }] },
    });
    expect(changes).toEqual([]);
  });

  it('calls what the operator allows', async () => {
    const lenient = new RuleWriter(table, box, { allow: ['127.0.0.1/32'] }, clock, async () => undefined);
    const body = { ...DRAFT, actionConfig: { url: 'http://127.0.0.1:8080/hook' } };
    expect(await lenient.create('acme', body)).toMatchObject({ ok: true });
  });

  it('answers what is wrong with a draft', async () => {
    expect(await writer.create('acme', { ...DRAFT, name: '' })).toMatchObject({ ok: false, problem: { status: 400 } });
  });
});

describe('changing a rule', () => {
  it('raises the version and keeps what is not mentioned', async () => {
    const rule = await created();
    clock.advance(1_000);
    const answer = await writer.update('acme', rule.id, { enabled: false });
    expect(answer).toMatchObject({ ok: true, value: { version: 2, enabled: false, createdAt: rule.createdAt } });
    expect(table.first.updatedAt > rule.updatedAt).toBe(true);
    expect(storedSecret()).toBe(SECRET);
  });

  it('keeps a secret that comes back masked, but not for another address', async () => {
    const rule = await created();
    expect(await writer.update('acme', rule.id, { ...rule, name: 'New' })).toMatchObject({ ok: true });
    expect([storedSecret(), table.first.name]).toEqual([SECRET, 'New']);
    const actionConfig = { ...rule.actionConfig, url: 'https://93.184.216.34/other' };
    expect(await writer.update('acme', rule.id, { ...rule, actionConfig })).toMatchObject({ ok: false });
    expect(table.first.actionConfig.url).toBe(rule.actionConfig.url);
  });

  it('refuses a private address, and does not judge an old one again', async () => {
    const lenient = new RuleWriter(table, box, { allow: ['127.0.0.1/32'] }, clock, async () => undefined);
    const answer = await lenient.create('acme', { ...DRAFT, actionConfig: { url: 'http://127.0.0.1:8080/a' } });
    if (!answer.ok) throw new Error('expected a rule');
    const { id } = answer.value;
    expect(await writer.update('acme', id, { enabled: false })).toMatchObject({ ok: true });
    expect(await writer.update('acme', id, { actionConfig: { url: 'http://127.0.0.1:8080/b' } })).toMatchObject({
      ok: false,
    });
  });

  it('refuses what a draft would be refused for', async () => {
    const { id } = await created();
    expect(await writer.update('acme', id, { conditionConfig: { threshold: 500 } })).toMatchObject({
      ok: false,
      problem: { details: [{ path: 'conditionConfig.threshold' }] },
    });
    expect(table.first.version).toBe(1);
  });
});

describe('a rule that is not there', () => {
  it.each(['nobody', 'a\u0000b', '', 'x'.repeat(200)])('is not found: %j', async (id) => {
    const notFound = { ok: false, problem: { error: 'Guardrail rule not found', status: 404 } };
    expect(await writer.update('acme', id, {})).toEqual(notFound);
    expect(await writer.delete('acme', id)).toEqual(notFound);
  });

  it('is not found by another tenant', async () => {
    const { id } = await created();
    expect(await writer.update('other', id, { enabled: false })).toMatchObject({ problem: { status: 404 } });
    expect(await writer.delete('other', id)).toMatchObject({ problem: { status: 404 } });
    expect(await writer.delete('acme', id)).toEqual({ ok: true, value: { ok: true } });
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

  it('stores all rules of a policy as rules like any other', async () => {
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

  it('stores nothing of a policy with a mistake, and says where it is', async () => {
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
    for (let i = 0; i < MOST_PATTERN_RULES; i++) await created(withOperator('regex'));
  });
  const refusal = {
    ok: false,
    problem: {
      status: 400,
      details: [{ path: 'conditionConfig.value', message: expect.stringContaining('at most 50 rules') }],
      hint: expect.stringContaining('contains'),
    },
  };

  it('are in so many rules only, new or changed', async () => {
    expect(await writer.create('acme', withOperator('regex'))).toMatchObject(refusal);
    const plain = await created(withOperator('contains'));
    const change = { conditionConfig: { path: 'to', operator: 'regex', value: 'x' } };
    expect(await writer.update('acme', plain.id, change)).toMatchObject(refusal);
    expect(table.rows.size).toBe(MOST_PATTERN_RULES + 1);
  });

  it('may go on changing where they are, and come again where one went', async () => {
    const { id } = table.first;
    const change = { conditionConfig: { path: 'to', operator: 'regex', value: 'y+' } };
    expect(await writer.update('acme', id, change)).toMatchObject({ ok: true });
    await writer.delete('acme', id);
    expect(await writer.create('acme', withOperator('regex'))).toMatchObject({ ok: true });
  });

  it('of an imported policy count like others, and it is stored whole or not at all', async () => {
    await writer.delete('acme', table.first.id);
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
    expect(table.rows.size).toBe(MOST_PATTERN_RULES - 1);
    expect(await writer.importPolicy('acme', body([rule(true), rule(false)]))).toMatchObject({ ok: true });
  });
});
