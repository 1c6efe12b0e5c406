import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { allOf, anyOf, type DecisionAnswer, not } from './answer.ts';

const answer = fc.constantFrom<DecisionAnswer>(true, false, 'missing', 'unavailable');
const answers = fc.array(answer, { minLength: 1, maxLength: 6 });
const shuffled = answers.chain((list) =>
  fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
);

describe('the algebra of answers', () => {
  it('has De Morgan’s laws', () => {
    fc.assert(fc.property(answers, (list) => not(allOf(list)) === anyOf(list.map(not))));
    fc.assert(fc.property(answers, (list) => not(anyOf(list)) === allOf(list.map(not))));
  });

  it('undoes a double negation', () => {
    fc.assert(fc.property(answer, (one) => not(not(one)) === one));
  });

  it('does not care about order or grouping', () => {
    fc.assert(fc.property(shuffled, ([list, other]) => allOf(list) === allOf(other) && anyOf(list) === anyOf(other)));
    fc.assert(fc.property(answers, answers, (a, b) => allOf([allOf(a), allOf(b)]) === allOf([...a, ...b])));
    fc.assert(fc.property(answers, answers, (a, b) => anyOf([anyOf(a), anyOf(b)]) === anyOf([...a, ...b])));
  });

  it('is the algebra of yes and no where everything can be told', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean()),
        (list) => allOf(list) === list.every(Boolean) && anyOf(list) === list.some(Boolean),
      ),
    );
  });

  it('never turns what could not be told into an answer that knowing it could overturn', () => {
    const told = (one: DecisionAnswer, as: boolean): boolean => (typeof one === 'boolean' ? one : as);
    fc.assert(
      fc.property(answers, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (list, truths) => {
        const known = list.map((one, i) => told(one, truths[i] ?? false));
        for (const combine of [allOf, anyOf]) {
          const said = combine(list);
          if (typeof said === 'boolean' && combine(known) !== said) return false;
        }
        return true;
      }),
    );
  });
});
