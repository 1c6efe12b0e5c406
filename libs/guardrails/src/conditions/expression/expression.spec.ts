import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const request = {
  tool: { name: 'transfer', tags: ['payment'] },
  args: { amount: 2000, to: { iban: 'GB82' }, items: [{ price: 3 }, { price: 9 }] },
  tags: { env: 'prod' },
  metrics: { risk: 0.5 },
  actor: { externalId: 'u1', metadata: { plan: 'free' } },
};
const ask = (expression: string) => answerTo('expression', { expression }, request);

describe('expression', () => {
  it.each([
    ['tool.name == "transfer" && args.amount > 1000', true],
    ['"payment" in tool.tags && tags.env == "prod"', true],
    ['args.items.exists(item, item.price > 5)', true],
    ['metrics.risk >= 0.6', false],
    ['actor.metadata.plan == "free"', true],
    ['has(args.note)', false],
    ['subjects.size() == 0 && phase == "tool.before" && agentId == "agent-1"', true],
    ['args.to.iban.matches("^GB[0-9]+$")', true],
    ['tool.tags.exists(tag, tag.matches("pay"))', true],
  ])('%s is %s', (source, answer) => expect(ask(source)).toBe(answer));

  it.each(['args.nothing > 1', 'args.to.bic == "x"', 'tags["nothing"] == "x"', 'args.items[7].price > 1'])(
    'is missing if the call lacks a value that %s reads',
    (source) => expect(ask(source)).toBe('missing'),
  );

  it('compares numbers in any representation and is missing if a value is not a number', () => {
    for (const amount of [5000, '5000', '5e3', ' 5000.00 ']) {
      const answers = ['> 1000', '>= 5000', '< 5000', '== 5000', '!= 5000'].map((rest) =>
        answerTo('expression', { expression: `args.amount ${rest}` }, { args: { amount } }),
      );
      expect(answers).toEqual([true, true, false, true, false]);
      const other = { amount, limit: '900' };
      expect(answerTo('expression', { expression: 'args.amount > args.limit' }, { args: other })).toBe(true);
    }
    expect(answerTo('expression', { expression: 'args.amount > 1000' }, { args: { amount: 'a lot' } })).toBe('missing');
    expect(answerTo('expression', { expression: 'args.v > "10"' }, { args: { v: '9' } })).toBe(true);
    expect(answerTo('expression', { expression: '-5 < args.v' }, { args: { v: '-4.5' } })).toBe(true);
  });

  it('throws on incompatible types, which makes the rule unavailable', () => {
    expect(() => ask('args.to + 5 > 9')).toThrow();
    expect(() => ask('args.amount')).toThrow('neither true nor false');
  });

  it.each([
    ['args.amount >', ''],
    ['amount > 1', 'Unknown variable: amount'],
    ['"text"', 'must be true or false'],
    ['phase == 5', ''],
    ['args.x.matches("(a)\\\\1")', 'RE2'],
    ['args.a.all(x, args.b.all(y, x == y))', 'too costly'],
    ['process.exit()', 'Unknown variable: process'],
    [`${'true && '.repeat(600)}true`, ''],
  ])('rejects the expression %s', (source, message) => expect(() => ask(source)).toThrow(message));

  it('can read only the call', () => {
    expect(ask('args.constructor == 1')).toBe('missing');
    expect(ask('has(args.__proto__)')).toBe(false);
  });

  it('matches in linear time a pattern that would backtrack for hours', () => {
    const args = { text: `${'a'.repeat(20_000)}!` };
    expect(answerTo('expression', { expression: 'args.text.matches("^(a+)+$")' }, { args })).toBe(false);
    const pattern = { expression: 'args.text.matches(args.pattern)' };
    expect(answerTo('expression', pattern, { args: { ...args, pattern: '(a|a)*b' } })).toBe(false);
  });
});
