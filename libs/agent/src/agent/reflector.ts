import type { Reflector } from './planner-state.ts';

/** The default: a plan to finish is the end, everything else is planned on. */
export const planReflector: Reflector = {
  async reflect(_state, { plan }) {
    if (plan.type !== 'finish') return { next: 'plan' };
    const result = plan.result ?? plan.message;
    return { next: 'finish', ...(result === undefined ? {} : { result }) };
  },
};
