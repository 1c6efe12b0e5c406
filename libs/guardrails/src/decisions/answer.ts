import type { CallTest } from '../catalog/condition-module.ts';
import { withoutNoise } from '../catalog/threshold.ts';
import type { CallFacts } from './facts.ts';

/**
 * Result of a condition for a call. `missing`: the call lacks the data; `unavailable`: the data could not be fetched.
 * The rule's own settings decide both cases.
 */
export type DecisionAnswer = boolean | 'missing' | 'unavailable';

/** Any `false` makes the result `false`; otherwise any `unavailable`, then any `missing`, becomes the result. */
export function allOf(answers: readonly DecisionAnswer[]): DecisionAnswer {
  return firstOf(answers, false, true);
}

/** Any `true` makes the result `true`; otherwise any `unavailable`, then any `missing`, becomes the result. */
export function anyOf(answers: readonly DecisionAnswer[]): DecisionAnswer {
  return firstOf(answers, true, false);
}

export function not(answer: DecisionAnswer): DecisionAnswer {
  return typeof answer === 'boolean' ? !answer : answer;
}

function firstOf(answers: readonly DecisionAnswer[], settling: boolean, otherwise: boolean): DecisionAnswer {
  if (answers.includes(settling)) return settling;
  if (answers.includes('unavailable')) return 'unavailable';
  return answers.includes('missing') ? 'missing' : otherwise;
}

/**
 * Test of one number that reports the number and its limit on a match.
 *
 * @param measure returns the number, or the condition's answer if there is none
 */
export function numberTest(
  measure: (facts: CallFacts) => number | DecisionAnswer,
  limit: number,
  holds: (value: number) => boolean,
): Required<Pick<CallTest, 'matches' | 'measured'>> {
  return {
    matches(facts) {
      const value = measure(facts);
      return typeof value === 'number' ? holds(value) : value;
    },
    measured(facts) {
      const value = measure(facts);
      return typeof value === 'number' ? { value: withoutNoise(value), limit } : null;
    },
  };
}
