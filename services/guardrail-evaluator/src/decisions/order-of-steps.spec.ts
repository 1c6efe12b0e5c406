import { describe, expect, it } from '@jest/globals';
import { judgeBudgets, reserveBudgets } from './budget-steps.ts';
import type { Affordable, Call, DecisionPorts, Fetched, Judged, Question, Ruled, Unlocked } from './call.ts';
import { noteOutcome } from './fact-steps.ts';
import { applyRules, matchRules } from './rule-steps.ts';

/*
 * Each of these is a decision with a step left out. The type check fails if one of them compiles: an expected error that
 * is missing is an error.
 */
const WITHOUT_A_STEP = {
  findBudgets: (ports: DecisionPorts, call: Call) =>
    // @ts-expect-error rules are matched with the budgets of the call
    matchRules(ports, call, call),
  judgeBreaker: (ports: DecisionPorts, question: Question, fetched: Fetched) =>
    // @ts-expect-error an open breaker would not block
    applyRules(ports, question, fetched),
  applyRules: (ports: DecisionPorts, unlocked: Unlocked) =>
    // @ts-expect-error no rule would be evaluated
    judgeBudgets(ports, unlocked),
  judgeBudgets: (ports: DecisionPorts, question: Question, ruled: Ruled) =>
    // @ts-expect-error a spent budget would not block
    reserveBudgets(ports, question, ruled),
  labelTree: (ports: DecisionPorts, call: Call, judged: Judged) =>
    // @ts-expect-error the outcome would be noted before the labels are set
    noteOutcome(ports, call, judged, { add: () => undefined }),
};

describe('the steps of a decision', () => {
  it('answer by what the step before returned', () => {
    const ruled: Ruled = {
      ruled: {
        outcome: { verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' }, message: '' },
      },
      spentBudget: null,
    };
    const affordable: Affordable = { affordable: ruled.ruled };
    expect(judgeBudgets({ metrics: { decided: () => undefined, refusedByBudget: () => undefined } }, ruled)).toEqual(
      affordable,
    );
    expect(Object.keys(WITHOUT_A_STEP)).toHaveLength(5);
  });
});
