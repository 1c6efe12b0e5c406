import type { CallTest } from '../catalog/condition-module.ts';
import { withoutNoise } from '../catalog/threshold.ts';
import type { DecisionAnswer } from './answer.ts';
import type { CallFacts } from './facts.ts';

/**
 * A test of one number, which is told beside its limit where the test says yes.
 *
 * @param measure the number, or what the condition says where there is none
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
