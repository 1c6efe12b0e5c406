import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { allOf, anyOf, type DecisionAnswer, not } from './answer.ts';

const answer = fc.constantFrom<DecisionAnswer>(true, false, 'missing', 'unavailable');
const answers = fc.array(answer, { minLength: 1, maxLength: 6 });
const shuffled = answers.chain((list) =>
  fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
);

describe('the algebra of answers', () => {
  it('satisfies De Morgan’s laws', () => {
    fc.assert(fc.property(answers, (list) => not(allOf(list)) === anyOf(list.map(not))));
    fc.assert(fc.property(answers, (list) => not(anyOf(list)) === allOf(list.map(not))));
  });

  it('cancels a double negation', () => {
    fc.assert(fc.property(answer, (one) => not(not(one)) === one));
  });

  it('is commutative and associative', () => {
    fc.assert(fc.property(shuffled, ([list, other]) => allOf(list) === allOf(other) && anyOf(list) === anyOf(other)));
    fc.assert(fc.property(answers, answers, (a, b) => allOf([allOf(a), allOf(b)]) === allOf([...a, ...b])));
    fc.assert(fc.property(answers, answers, (a, b) => anyOf([anyOf(a), anyOf(b)]) === anyOf([...a, ...b])));
  });

  it('equals boolean algebra if every answer is known', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean()),
        (list) => allOf(list) === list.every(Boolean) && anyOf(list) === list.some(Boolean),
      ),
    );
  });

  it('never returns true or false if an unknown answer could change it', () => {
    const resolve = (one: DecisionAnswer, as: boolean): boolean => (typeof one === 'boolean' ? one : as);
    fc.assert(
      fc.property(answers, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (list, truths) => {
        const known = list.map((one, i) => resolve(one, truths[i] ?? false));
        for (const combine of [allOf, anyOf]) {
          const combined = combine(list);
          if (typeof combined === 'boolean' && combine(known) !== combined) return false;
        }
        return true;
      }),
    );
  });
});
