import type { Planner, PlannerState, PlanStep } from './planner-state.ts';

export type ScriptedPlan = PlanStep | ((state: PlannerState) => PlanStep | Promise<PlanStep>);

/** Planner that follows a list and finishes at its end; for tests and for work that needs no model. */
export function scriptedPlanner(steps: readonly ScriptedPlan[]): Planner {
  return {
    async plan(state) {
      const step = steps[state.step - 1] ?? { type: 'finish' };
      return typeof step === 'function' ? step(state) : step;
    },
  };
}
