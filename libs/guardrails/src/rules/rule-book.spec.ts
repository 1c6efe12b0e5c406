import { EVENT_KINDS, type EventKind, type GuardrailRule } from '@agentlens/contracts';
import { aRule } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ActiveRule, activate } from './active-rule.ts';
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

  it('replaces one tenant and leaves the book it came from as it was', () => {
    const [one, two] = [active(aRule({ tenantId: 't1' })), active(aRule({ tenantId: 't2' }))];
    const before = shelved([one, two]);
    const after = before.withTenant('t1', []);
    expect([...after.tenants]).toEqual(['t2']);
    expect(before.matching('t1', 'a', 'llm.called')).toEqual([one]);
    expect(after.matching('t1', 'a', 'llm.called')).toEqual([]);
    expect(after.matching('t2', 'a', 'llm.called')).toEqual([two]);
  });

  it('keeps rules that tick apart', () => {
    const rule = active(aRule({ tenantId: 't1', conditionType: 'health_score_threshold', conditionConfig: {} }));
    const book = RuleBook.EMPTY.withTenant('t1', [rule]);
    expect(book.ticking('t1')).toEqual([rule]);
    expect(book.matching('t1', 'a', 'custom.recorded')).toEqual([]);
  });
});

describe('activate', () => {
  it('turns down what this version does not know', () => {
    expect(activate(aRule({ conditionType: 'from_the_future' }))).toMatchObject({ ok: false });
    expect(activate(aRule({ conditionConfig: { threshold: 'high' } }))).toMatchObject({ ok: false });
  });

  it('holds no action config', () => {
    expect(JSON.stringify(active(aRule({ actionConfig: { secret: 'sealed' } })))).not.toContain('sealed');
  });
});
