import { describe, expect, it } from '@jest/globals';
import { aDecisionRule, aRequest, NOW, someFacts } from './call.testing.ts';
import { decide } from './decide.ts';
import { callAllowance, FREE_STEPS, metered, RULE_STEPS, StepsSpent, spend } from './step-meter.ts';

const names = (count: number, prefix = 'n') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const MUCH = { a: names(20_000, 'a'), b: names(20_000, 'b'), text: 'x'.repeat(240_000) };

function ruled(conditionType: string, conditionConfig: object, args: unknown, fields: object = {}) {
  const rule = aDecisionRule({ conditionType, conditionConfig: conditionConfig as Record<string, never>, ...fields });
  const { effect, bypasses } = decide([rule], aRequest({ args }), someFacts(), Date.parse(NOW));
  return { effect, why: bypasses[0]?.why };
}
const expressed = (expression: string, args: unknown) => ruled('expression', { expression }, args);

describe('a rule that would delay other calls', () => {
  it.each([
    ['looks up each element of a list in another', 'args.a.all(x, !(x in args.b))'],
    ['compares each element with a list', 'args.a.exists(x, [x] == args.b)'],
    ['compares each element with a long string', 'args.a.exists(x, args.text < args.text + x)'],
    ['searches a string for each element', 'args.a.exists(x, args.text.contains(x))'],
    ['fails on each element', 'args.a.exists(x, x.y == 1)'],
    ['splits a string for each element', 'args.a.exists(x, args.text.split("").size() == 1)'],
    ['builds a string for each element', 'args.a.map(x, args.text + x).size() == 0'],
    [
      'reads a time in a time zone for each element',
      'args.a.exists(x, timestamp("2020-01-01T00:00:00Z").getHours("Europe/Berlin") == 30)',
    ],
    ['uses each element as a pattern', 'args.a.exists(x, args.text.matches(x))'],
    ['matches a large pattern against a long string', 'args.text.matches("[\\\\p{L}]{1,400}[0-9]")'],
  ])('is unavailable if it %s', (_name, expression) => {
    expect(expressed(expression, MUCH)).toEqual({ effect: 'allow', why: 'unavailable' });
  });

  it('is unavailable for a costly pattern on an argument, and blocks if onUnavailable is block', () => {
    const pattern = { operator: 'regex', value: '[\\p{L}]{1,400}[0-9]' };
    const { text } = MUCH;
    expect(ruled('tool_argument', pattern, { text })).toEqual({ effect: 'allow', why: 'unavailable' });
    expect(ruled('tool_argument', pattern, { text }, { onUnavailable: 'block' })).toMatchObject({ effect: 'block' });
    expect(ruled('tool_argument', pattern, { text: 'abc1' })).toEqual({ effect: 'block', why: undefined });
  });

  it('is unavailable when searching for card numbers in text made of digits', () => {
    const cards = { detectors: [{ detector: 'credit_card' }] };
    expect(ruled('sensitive_data', cards, { text: '1234 5678 '.repeat(20_000) })).toMatchObject({ why: 'unavailable' });
    expect(ruled('sensitive_data', cards, { text: 'a word, '.repeat(25_000) })).toEqual({ effect: 'allow' });
  });
});

describe('a rule about a large call', () => {
  it.each([
    ['args.a.exists(x, x == "a19999")', 'block'],
    ['"b19999" in args.b', 'block'],
    ['args.text.contains("y")', 'allow'],
    ['args.text.matches("(?i)drop")', 'allow'],
    ['args.a.all(x, x in ["a1", "a2"])', 'allow'],
    ['args.a.size() == args.b.size() && args.a != args.b', 'block'],
  ])('is evaluated if it iterates over the data once: %s', (expression, effect) => {
    expect(expressed(expression, MUCH)).toEqual({ effect, why: undefined });
  });
});

describe('the steps of a call', () => {
  it('go to the most important rules first, and cheap rules need none', () => {
    const dear = { conditionType: 'expression', conditionConfig: { expression: 'args.a.exists(x, x == "a19999")' } };
    const rules = names(12).map((id, at) => aDecisionRule({ ...dear, id, priority: at }));
    const cheap = aDecisionRule({ id: 'cheap', priority: -1 });
    const request = aRequest({ args: { a: names(20_000, 'a') } });
    const { findings } = decide([cheap, ...rules], request, someFacts(), Date.parse(NOW));
    const matched = findings.filter((finding) => finding.matched).map(({ ruleId }) => ruleId);
    expect(matched.slice(0, 2)).toEqual(['n11', 'n10']);
    expect(matched).toContain('cheap');
    expect(matched).not.toContain('n0');
  });

  it.each([
    ['tool_argument', { operator: 'contains', value: 'x' }],
    ['sensitive_data', { detectors: [{ detector: 'email' }] }],
  ])('are charged for searching strings among other values: %s', (conditionType, conditionConfig) => {
    const rules = names(12).map((id) => aDecisionRule({ id, conditionType, conditionConfig }));
    const request = aRequest({ args: { list: Array.from({ length: 450_000 }, () => 0) } });
    const { bypasses } = decide(rules, request, someFacts(), Date.parse(NOW));
    expect(bypasses.map(({ why }) => why)).toEqual(['unavailable', 'unavailable', 'unavailable']);
  });

  it('are free up to a limit and bounded per rule regardless of the allowance', () => {
    const none = callAllowance(0);
    expect(metered(none, () => spend(FREE_STEPS))).toBeUndefined();
    expect(() => metered(none, () => spend(FREE_STEPS + 1))).toThrow(StepsSpent);
    expect(() => metered(callAllowance(Number.MAX_SAFE_INTEGER), () => spend(RULE_STEPS + 1))).toThrow(StepsSpent);
  });

  it('reduce the allowance only beyond the free steps', () => {
    const taken: number[] = [];
    const allowance = { take: (steps: number) => taken.push(steps) > 0 };
    metered(allowance, () => {
      spend(FREE_STEPS - 10);
      spend(15);
      spend(7);
    });
    expect(taken).toEqual([5, 7]);
  });

  it("are not counted outside of a rule's evaluation", () => {
    expect(() => spend(RULE_STEPS * 10)).not.toThrow();
  });
});
