import type { CallTest } from '../catalog/condition-module.ts';
import { withoutNoise } from '../catalog/threshold.ts';
import type { DecisionAnswer } from './answer.ts';
import type { CallFacts } from './facts.ts';

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
