import { AgentError } from '../core/agent-error.ts';
import { textOf, toolUsesOf } from '../core/message.ts';
import type { Planner, PlannerState, PlanStep, Reflector } from './planner-state.ts';

/** Default planner: the model's calls are the plan, and an answer without calls ends the run. */
export function modelPlanner(): Planner {
  return { plan };
}

async function plan(state: PlannerState): Promise<PlanStep> {
  if (state.model === null)
    throw new AgentError('invalid_config', 'the agent has no model provider: add one, or set a planner');
  const { tools, callOptions, signal } = state;
  const response = await state.model.call(state.messages, {
    ...callOptions,
    ...(tools.length === 0 ? {} : { tools }),
    signal,
  });
  const assistant = { role: 'assistant', content: response.content } as const;
  const calls = toolUsesOf(response.content).map(({ id, name, input, malformed }) => ({
    ...{ toolUseId: id, toolId: name, input },
    ...(malformed === undefined ? {} : { malformed }),
  }));
  if (calls.length > 0) return { type: 'tool', calls, assistant };
  if (response.stopReason === 'max_tokens')
    throw new AgentError('model_cut_off', 'the answer reached the maximum length');
  const text = textOf(response.content);
  return { type: 'finish', result: text, message: text, assistant };
}

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

/** Default reflector: a plan to finish ends the run, everything else continues. */
export const planReflector: Reflector = {
  async reflect(_state, { plan }) {
    if (plan.type !== 'finish') return { next: 'plan' };
    const result = plan.result ?? plan.message;
    return { next: 'finish', ...(result === undefined ? {} : { result }) };
  },
};
