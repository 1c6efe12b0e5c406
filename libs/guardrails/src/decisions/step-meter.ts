/**
 * Work that conditions do on a call is counted in steps of about 50 ns, worst case: an element compared, an instruction
 * of a pattern tried on a character. A rule that costs more is `unavailable`, so that no call keeps others waiting.
 */
export interface StepAllowance {
  /** Takes steps for the call; false: there are not so many left. */
  take(steps: number): boolean;
}

/** What each rule may cost whoever else asks: about a millisecond. Nearly all rules on nearly all calls stay below. */
export const FREE_STEPS = 20_000;
/** Most that one rule may cost on one call. */
export const RULE_STEPS = 2_000_000;
/** Most that all rules of a call may cost together, beyond what is free. */
export const CALL_STEPS = 4_000_000;

/** Thrown by `spend`: the rule costs more than it may. Made once, since a walk may meet it at every element. */
export class StepsSpent extends Error {
  override readonly name = 'StepsSpent';
}
const SPENT = new StepsSpent('the rule costs more steps on this call than it may');

/** Of a process that decides its own calls only. */
export function callAllowance(steps = CALL_STEPS): StepAllowance {
  let left = steps;
  return {
    take(wanted) {
      if (wanted > left) return false;
      left -= wanted;
      return true;
    },
  };
}

/** Conditions are asked one after the other and never wait, so the rule being asked is the only one. */
let current: StepAllowance | undefined;
let used = 0;

/** Asks one rule; what it spends is held against `allowance`. @throws StepsSpent */
export function metered<T>(allowance: StepAllowance, ask: () => T): T {
  current = allowance;
  used = 0;
  try {
    return ask();
  } finally {
    current = undefined;
  }
}

/** Called before the work is done. Without a rule being asked, as where a rule is saved, nothing is counted. @throws StepsSpent */
export function spend(steps: number): void {
  if (current === undefined) return;
  const before = Math.max(used, FREE_STEPS);
  used += steps;
  if (used <= FREE_STEPS) return;
  if (used > RULE_STEPS || !current.take(used - before)) throw SPENT;
}
