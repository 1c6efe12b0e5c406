import type { Reflector } from './planner-state.ts';

/** Default reflector: a plan to finish ends the run, everything else continues. */
export const planReflector: Reflector = {
  async reflect(_state, { plan }) {
    if (plan.type !== 'finish') return { next: 'plan' };
    const result = plan.result ?? plan.message;
    return { next: 'finish', ...(result === undefined ? {} : { result }) };
  },
};
