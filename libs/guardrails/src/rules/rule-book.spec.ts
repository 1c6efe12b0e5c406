import { EVENT_KINDS, type EventKind, type GuardrailRule } from '@agentlens/contracts';
import { aBatch, anEvent, aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { planAgent } from '../evaluation/plan.ts';
import { type ActiveRule, activate, isInForce } from './active-rule.ts';
import { RuleBook } from './rule-book.ts';

function active(rule: GuardrailRule): ActiveRule {
  const result = activate(rule);
  if (!result.ok) throw new Error(result.reason);
  return result.value;
}

const ids = (rules: readonly ActiveRule[]) => rules.map(({ id }) => id).sort();

const anyRule = fc
  .record({
    tenantId: fc.constantFrom('t1', 't2', 't3'),
    agentId: fc.option(fc.constantFrom('a1', 'a2', 'a3'), { nil: undefined }),
    priority: fc.integer({ min: -2, max: 2 }),
    condition: fc.constantFrom<Partial<GuardrailRule>>(
      { conditionType: 'error_rate_threshold', conditionConfig: {} },
      { conditionType: 'custom_metric', conditionConfig: { metricName: 'tool_call_count' } },
      { conditionType: 'custom_metric', conditionConfig: { metricName: 'llm_call_count' } },
      { conditionType: 'health_score_threshold', conditionConfig: {} },
    ),
  })
  .map(({ condition, ...fields }) => active(aRule({ ...fields, ...condition })));

function shelved(rules: readonly ActiveRule[]): RuleBook {
  return ['t1', 't2', 't3'].reduce(
    (book, tenantId) =>
      book.withTenant(
        tenantId,
        rules.filter((rule) => rule.tenantId === tenantId),
      ),
    RuleBook.EMPTY,
  );
}

describe('RuleBook', () => {
  it('finds what a linear scan finds', () => {
    const question = fc.tuple(
      fc.constantFrom('t1', 't2', 't3', 't4'),
      fc.constantFrom('a1', 'a2', 'a3', 'a4'),
      fc.constantFrom<EventKind>(...EVENT_KINDS),
    );
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 40 }), fc.array(question), (rules, questions) => {
        const book = shelved(rules);
        expect(book.size).toBe(rules.length);
        for (const [tenantId, agentId, kind] of questions) {
          const scan = rules.filter(
            (rule) =>
              rule.cadence === 'event' &&
              rule.tenantId === tenantId &&
              (rule.agentId === undefined || rule.agentId === agentId) &&
              rule.kinds.includes(kind),
          );
          const found = book.matching(tenantId, agentId, kind);
          expect(ids(found)).toEqual(ids(scan));
          expect(found.map(({ priority }) => priority)).toEqual(scan.map((r) => r.priority).sort((a, b) => b - a));
        }
      }),
    );
  });

  it('replaces one tenant without changing the original book', () => {
    const [one, two] = [active(aRule({ tenantId: 't1' })), active(aRule({ tenantId: 't2' }))];
    const before = shelved([one, two]);
    const after = before.withTenant('t1', []);
    expect([...after.tenants]).toEqual(['t2']);
    expect(before.matching('t1', 'a', 'llm.called')).toEqual([one]);
    expect(after.matching('t1', 'a', 'llm.called')).toEqual([]);
    expect(after.matching('t2', 'a', 'llm.called')).toEqual([two]);
  });

  it('keeps tick rules separate', () => {
    const rule = active(aRule({ tenantId: 't1', conditionType: 'health_score_threshold', conditionConfig: {} }));
    const book = RuleBook.EMPTY.withTenant('t1', [rule]);
    expect(book.ticking('t1')).toEqual([rule]);
    expect(book.matching('t1', 'a', 'custom.recorded')).toEqual([]);
  });
});

describe('series that decisions read', () => {
  const gate = (fields: Partial<GuardrailRule> = {}) =>
    active(aRule({ tenantId: 't1', actionType: 'block', actionConfig: {}, ...fields }));

  it('are fed by the agent’s events without measuring the rule on them', () => {
    const rules = [gate(), gate({ agentId: 'a1' }), gate({ agentId: 'a2' })];
    const book = RuleBook.EMPTY.withTenant('t1', rules);
    expect(book.matching('t1', 'a1', 'llm.called')).toEqual([]);
    expect(ids(book.feeding('t1', 'a1', 'llm.called').map(({ rule }) => rule))).toEqual(ids(rules.slice(0, 2)));
    expect(book.feeding('t2', 'a1', 'llm.called')).toEqual([]);
  });

  it('receive an event once even if measured rules read the same series', () => {
    const book = RuleBook.EMPTY.withTenant('t1', [gate(), gate({ id: 'other' }), active(aRule({ tenantId: 't1' }))]);
    const event = anEvent({ isError: true });
    const batch = aBatch({ tenantId: 't1', events: [event] });
    const request = planAgent(book, batch, event.agentId, [[0, event]])?.request;
    expect(request?.series).toHaveLength(1);
    expect(request?.increments).toEqual([expect.objectContaining({ series: 0, value: 1 })]);
    const alone = RuleBook.EMPTY.withTenant('t1', [gate()]);
    expect(planAgent(alone, batch, event.agentId, [[0, event]])?.request.increments).toHaveLength(1);
  });
});

describe('activate', () => {
  it('rejects what this version does not know', () => {
    expect(activate(aRule({ conditionType: 'from_the_future' }))).toMatchObject({ ok: false });
    expect(activate(aRule({ conditionConfig: { threshold: 'high' } }))).toMatchObject({ ok: false });
  });

  it('treats shadow as a dry run and off as disabled', () => {
    expect(active(aRule({ mode: 'shadow' })).dryRun).toBe(true);
    expect(isInForce(aRule({ mode: 'off' }), 0)).toBe(false);
    expect(isInForce(aRule({ enabled: false }), 0)).toBe(false);
    expect(isInForce(aRule({ mode: 'shadow' }), 0)).toBe(true);
  });

  it('rejects a condition that does not fit the action', () => {
    expect(
      activate(aRule({ conditionType: 'health_score_threshold', conditionConfig: {}, actionType: 'block' })).ok,
    ).toBe(false);
    expect(activate(aRule({ conditionType: 'tool_name', conditionConfig: { value: 'x' } })).ok).toBe(false);
    expect(activate(aRule({ actionType: 'block', actionConfig: { surprise: 1 } })).ok).toBe(false);
  });

  it('does not keep the action config', () => {
    expect(JSON.stringify(active(aRule({ actionConfig: { secret: 'sealed' } })))).not.toContain('sealed');
  });
});
