/**
 * Budget of steps for a call. Conditions count their work in steps of at most about 50 ns: comparing an element, or
 * trying one pattern instruction on a character. A rule that exceeds its budget is `unavailable`, so that no call
 * delays others.
 */
export interface StepAllowance {
  /** Takes steps for the call. Returns false if not enough are left. */
  take(steps: number): boolean;
}

/** Steps that each rule may always use: about a millisecond. Nearly all rules stay below on nearly all calls. */
export const FREE_STEPS = 20_000;
/** Maximum for one rule on one call. */
export const RULE_STEPS = 2_000_000;
/** Maximum for all rules of a call together, beyond the free steps. */
export const CALL_STEPS = 4_000_000;

/** Thrown by `spend` if a rule exceeds its budget. A single instance, because an iteration may throw it per element. */
export class StepsSpent extends Error {
  override readonly name = 'StepsSpent';
}
const SPENT = new StepsSpent('the rule exceeded its step budget on this call');

/** Allowance for a process that decides only its own calls. */
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

/** Rules are evaluated synchronously one after another, so there is one current rule. */
let current: StepAllowance | undefined;
let used = 0;

/** Evaluates one rule and charges its steps to `allowance`. @throws StepsSpent */
export function metered<T>(allowance: StepAllowance, ask: () => T): T {
  current = allowance;
  used = 0;
  try {
    return ask();
  } finally {
    current = undefined;
  }
}

/** Call before doing the work. Counts nothing outside of `metered`, such as when a rule is saved. @throws StepsSpent */
export function spend(steps: number): void {
  if (current === undefined) return;
  const before = Math.max(used, FREE_STEPS);
  used += steps;
  if (used <= FREE_STEPS) return;
  if (used > RULE_STEPS || !current.take(used - before)) throw SPENT;
}
