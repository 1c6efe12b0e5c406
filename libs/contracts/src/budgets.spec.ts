import { describe, expect, it } from '@jest/globals';
import { Budget } from './budgets.ts';

describe('the name of a budget', () => {
  it.each(['Money', 'Geld für März 🦜', 'x'.repeat(200)])('may be %j', (name) => {
    expect(Budget.shape.name.safeParse(name).success).toBe(true);
  });

  it.each(['', '\u0000', 'two\nlines', 'x'.repeat(201)])(
    'may not be %j, which a database or a list cannot show',
    (name) => {
      expect(Budget.shape.name.safeParse(name).success).toBe(false);
    },
  );
});

describe('a budget that cannot be checked', () => {
  it('blocks by default', () => {
    const { onUnavailable } = Budget.shape;
    expect([onUnavailable.parse(undefined), onUnavailable.parse('allow')]).toEqual(['block', 'allow']);
  });
});
