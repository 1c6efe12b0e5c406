import { DECISION_EFFECTS, type DecisionEffect, type GuardrailRule } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { aDecisionRule, aPastCall, aRequest, NOW, someFacts } from './call.testing.ts';
import { decide, mostSevere } from './decide.ts';
import { DecisionBook } from './decision-book.ts';
import type { DecisionRule } from './decision-rule.ts';
import type { AgentFacts } from './facts.ts';

const ACTION: Record<Exclude<DecisionEffect, 'allow'>, Partial<GuardrailRule>> = {
  modify: { actionType: 'modify_arguments', actionConfig: { set: { changed: true } } },
  ask: { actionType: 'require_approval', actionConfig: {} },
  block: { actionType: 'block', actionConfig: {} },
  terminate: { actionType: 'terminate_run', actionConfig: {} },
};
const MATCHES = { conditionType: 'tool_name', conditionConfig: { value: 'search' } };
const DOES_NOT = { conditionType: 'tool_name', conditionConfig: { value: 'other' } };
const LACKS = { conditionType: 'enduser_tag', conditionConfig: { tag: 'vip' } };
const NEEDS = { conditionType: 'repeated_call', conditionConfig: {} };

const rulesDo = (effect: Exclude<DecisionEffect, 'allow'>, fields: Partial<GuardrailRule> = {}) =>
  aDecisionRule({ ...ACTION[effect], ...fields });
const ask = (rules: DecisionRule[], request = {}, facts = {}) =>
  decide(rules, aRequest(request), someFacts(facts), Date.parse(NOW));

const anyRule = fc
  .record({
    effect: fc.constantFrom<Exclude<DecisionEffect, 'allow'>>('modify', 'ask', 'block', 'terminate'),
    condition: fc.constantFrom(MATCHES, DOES_NOT, LACKS, NEEDS),
    priority: fc.integer({ min: -1, max: 1 }),
    mode: fc.constantFrom('enforce' as const, 'shadow' as const),
    onMissing: fc.constantFrom('allow' as const, 'block' as const),
    onUnavailable: fc.constantFrom('allow' as const, 'block' as const),
    set: fc.constantFrom('a', 'b'),
    to: fc.nat(3),
  })
  .map(({ effect, condition, set, to, ...fields }) =>
    rulesDo(effect, {
      ...condition,
      ...fields,
      ...(effect === 'modify' ? { actionConfig: { set: { [set]: to } } } : {}),
    }),
  );
const rulesInTwoOrders = fc
  .array(anyRule, { maxLength: 8 })
  .chain((rules) => fc.tuple(fc.constant(rules), fc.shuffledSubarray(rules, { minLength: rules.length })));

describe('severity', () => {
  const effects = fc.array(fc.constantFrom<DecisionEffect>(...DECISION_EFFECTS));
  it('can be combined in any order and grouping', () => {
    fc.assert(fc.property(effects, effects, (a, b) => mostSevere([...a, ...b]) === mostSevere([...b, ...a])));
    fc.assert(
      fc.property(effects, effects, (a, b) => mostSevere([mostSevere(a), mostSevere(b)]) === mostSevere([...a, ...b])),
    );
  });
});

describe('decide', () => {
  it('gives the same ruling for any order of rules', () => {
    fc.assert(
      fc.property(rulesInTwoOrders, fc.boolean(), ([rules, other], away) => {
        const facts = away ? { history: 'unavailable' as const } : {};
        expect(ask(other, {}, facts)).toEqual(ask(rules, {}, facts));
      }),
    );
  });

  it('returns the most severe enforced effect and reports every rule', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 8 }), (rules) => {
        const ruling = ask(rules);
        const enforced = ruling.findings.filter(({ mode }) => mode === 'enforce');
        expect(ruling.effect).toBe(mostSevere(enforced.map(({ effect }) => effect)));
        expect(ruling.wouldBe).toBe(mostSevere(ruling.findings.map(({ effect }) => effect)));
        expect(ruling.findings.map(({ ruleId }) => ruleId).sort()).toEqual(rules.map(({ id }) => id).sort());
        expect(ruling.finalRule === undefined).toBe(ruling.effect === 'allow');
      }),
    );
  });

  it('allows if no rule matches', () => {
    expect(ask([rulesDo('block', DOES_NOT)])).toMatchObject({
      effect: 'allow',
      message: 'Allowed',
      findings: [{ matched: false, violated: false, effect: 'allow', enabled: true }],
      bypasses: [],
    });
  });

  it('prefers the most severe effect, then the highest priority, then the lowest id', () => {
    const [a, b] = [rulesDo('block', { priority: 1, id: 'b' }), rulesDo('block', { priority: 1, id: 'a' })];
    const mild = rulesDo('ask', { priority: 99 });
    expect(ask([a, mild, b]).finalRule?.id).toBe('a');
    expect(ask([a, b, rulesDo('terminate', { priority: -9 })]).effect).toBe('terminate');
  });

  it('asks once for all rules that ask, with the shortest time, and not for one that is approved', () => {
    const slow = { actionConfig: { expiresInSeconds: 600 } };
    const rules = [
      rulesDo('ask', { id: 'a', priority: 2, ...slow }),
      rulesDo('ask', { id: 'b', priority: 1, actionConfig: { expiresInSeconds: 60 } }),
      rulesDo('ask', { id: 'shadow', mode: 'shadow' }),
    ];
    const asked = ask(rules);
    expect(asked.ask).toMatchObject({ ruleId: 'a', expiresInSeconds: 60, also: [{ id: 'b' }] });
    expect(ask(rules, {}, { approved: new Set(['b']) }).ask).toMatchObject({ ruleId: 'a', also: [] });
    expect(ask(rules, {}, { approved: new Set(['a', 'b']) }).effect).toBe('allow');
  });

  it("gives the agent the rule's name but never its limit", () => {
    const rule = rulesDo('block', {
      name: 'Small sums only',
      conditionType: 'tool_argument',
      conditionConfig: { path: 'amount', type: 'number', operator: 'gt', value: 12345 },
    });
    const ruling = ask([rule], { args: { amount: 99999 } });
    expect(ruling.message).toBe('Blocked by rule "Small sums only"');
    expect(JSON.stringify([ruling.message, ruling.findings, ruling.bypasses])).not.toContain('12345');
  });

  it("gives the agent the rule's own message if there is one", () => {
    expect(ask([rulesDo('block', { actionConfig: { message: 'Ask Ada' } })]).message).toBe('Ask Ada');
  });

  it('records the effect of a shadow rule without applying it', () => {
    const ruling = ask([rulesDo('block', { mode: 'shadow' }), rulesDo('modify', { dryRun: true })], { args: {} });
    expect(ruling).toMatchObject({ effect: 'allow', wouldBe: 'block' });
    expect(ruling.findings).toContainEqual(
      expect.objectContaining({ violated: true, effect: 'block', mode: 'shadow' }),
    );
    expect(ruling).not.toHaveProperty('modifiedArgs');
  });

  it.each([
    ['missing', LACKS, 'onMissing', {}],
    ['unavailable', NEEDS, 'onUnavailable', { history: 'unavailable' as const }],
    ['deadline', NEEDS, 'onUnavailable', { history: 'deadline' as const }],
  ] as const)(
    "applies the rule's setting and records a bypass if something is %s",
    (why, condition, setting, facts) => {
      for (const did of ['allow', 'block'] as const) {
        const rule = rulesDo('terminate', { ...condition, [setting]: did });
        const ruling = ask([rule], {}, facts);
        expect(ruling.effect).toBe(did);
        expect(ruling.bypasses).toEqual([{ ruleId: rule.id, why, did }]);
      }
    },
  );

  it('isolates a rule that throws', () => {
    const failing = rulesDo('block', {
      conditionType: 'expression',
      conditionConfig: { expression: 'args.a + 5 > 9' },
      onUnavailable: 'block',
    });
    const ruling = ask([failing, rulesDo('ask')], { args: { a: 'text' } });
    expect(ruling.bypasses).toEqual([{ ruleId: failing.id, why: 'error', did: 'block' }]);
    expect(ruling.findings).toHaveLength(2);
  });

  it("asks with the rule's title until exactly this call is approved", () => {
    const rule = rulesDo('ask', { name: 'Payments', version: 4 });
    expect(ask([rule])).toMatchObject({
      effect: 'ask',
      ask: { ruleId: rule.id, ruleVersion: 4, title: 'Payments', expiresInSeconds: 900 },
    });
    const approved = ask([rule], {}, { approved: new Set([rule.id]) });
    expect(approved).toMatchObject({ effect: 'allow', findings: [{ matched: true, violated: false }] });
    expect(ask([rule, rulesDo('block')], {}, { approved: new Set([rule.id]) }).effect).toBe('block');
  });

  it('changes arguments in order of priority, highest last, and keeps the changes while a call waits for approval', () => {
    const first = rulesDo('modify', { priority: 1, actionConfig: { set: { a: 1 }, remove: ['c'] } });
    const second = rulesDo('modify', { priority: 9, actionConfig: { set: { a: 2, b: 2 } } });
    const request = { args: { c: 3, d: 4 } };
    expect(ask([second, first], request)).toMatchObject({ effect: 'modify', modifiedArgs: { a: 2, b: 2, d: 4 } });
    expect(ask([second, rulesDo('ask')], request)).toMatchObject({ effect: 'ask', modifiedArgs: { a: 2, b: 2 } });
    expect(ask([second, rulesDo('block')], request)).not.toHaveProperty('modifiedArgs');
    expect(ask([second], { args: { a: 2, b: 2 } })).toMatchObject({ effect: 'allow', findings: [{ violated: false }] });
  });

  it('skips rules for other agents and is unavailable if tags cannot be fetched', () => {
    const rule = rulesDo('block', { selector: { agentSlugsAny: ['support-*'], agentTagsAny: ['Prod'] } });
    const about = (agent: AgentFacts | 'unavailable', agentId = 'support-bot') => ask([rule], { agentId }, { agent });
    expect(about({ tags: ['prod'] }).effect).toBe('block');
    expect(about({ tags: ['prod'] }, 'sales-bot').findings).toEqual([]);
    expect(about('unavailable', 'sales-bot').findings).toEqual([]);
    expect(about({ tags: [] }).findings).toEqual([]);
    expect(ask([rule], { agentId: 'support-bot' }).findings).toEqual([]);
    expect(about('unavailable').bypasses).toEqual([{ ruleId: rule.id, why: 'unavailable', did: 'allow' }]);
  });
});

describe('a rule that selects agents by slug', () => {
  it('applies to an unregistered agent, whose slug is its id', () => {
    const rule = rulesDo('block', { selector: { agentSlugsAny: ['support-*'] } });
    expect(ask([rule], { agentId: 'support-bot' }).effect).toBe('block');
    expect(ask([rule], { agentId: 'sales-bot' }).findings).toEqual([]);
  });
});

describe('the name of a tool', () => {
  const called = (rule: Partial<GuardrailRule>, name: string) =>
    decide([aDecisionRule(rule)], aRequest({ tool: { name, tags: [] } }), someFacts(), Date.parse(NOW));

  it.each(['pay ', 'pay\u200b', 'P\u2060AY', '\uff50ay'])('is compared by its visible form: %j', (name) => {
    const book = DecisionBook.EMPTY.withTenant('acme', [aDecisionRule({ selector: { tools: ['pay'] } })]);
    expect(book.matching(aRequest({ tool: { name, tags: [] } }))).toHaveLength(1);
    for (const operator of ['eq', 'glob']) {
      const rule = { conditionType: 'tool_name', conditionConfig: { operator, value: 'Pay' } };
      expect(called(rule, name).effect).toBe('block');
    }
    const seen = { conditionType: 'expression', conditionConfig: { expression: 'tool.name in ["pay", "PAY"]' } };
    expect(called(seen, name).effect).toBe('block');
    const loop = { conditionType: 'repeated_call', conditionConfig: { times: 1, sameResult: false } };
    const history = [aPastCall({ toolName: 'pay', status: 'allowed' })];
    expect(
      decide([aDecisionRule(loop)], aRequest({ tool: { name, tags: [] } }), someFacts({ history }), Date.parse(NOW)),
    ).toMatchObject({ effect: 'block' });
  });

  it('matches no allow rule if it mixes scripts', () => {
    const rule = { conditionType: 'tool_name', conditionConfig: { value: 'p*' }, actionType: 'allow' };
    expect(called(rule, 'pay').findings).toMatchObject([{ matched: true }]);
    expect(called(rule, 'p\u0430y').findings).toMatchObject([{ matched: false }]);
  });
});
