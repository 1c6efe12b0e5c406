import type { ProblemDetail } from '@agentlens/contracts';
import { ACTIONS } from '../actions/index.ts';
import type { Phase } from '../catalog/condition-module.ts';
import { CONDITIONS } from '../conditions/index.ts';
import { askableIn } from '../decisions/selector.ts';

/** What fits on its own and not together: condition, action and selector of a rule. Unknown types are said elsewhere. */
export function clashes(body: Record<string, unknown>): ProblemDetail[] {
  const { conditionType, actionType, selector } = body;
  const condition = typeof conditionType === 'string' ? CONDITIONS.get(conditionType) : undefined;
  const action = typeof actionType === 'string' ? ACTIONS.get(actionType) : undefined;
  if (condition === undefined || action === undefined) return [];
  const [phase] = action.phases;
  if (!condition.phases.includes(phase)) {
    return [{ path: 'conditionType', message: `${MISFIT[phase]}; actions that fit are ${fitting(condition.phases)}` }];
  }
  if (selector == null) return [];
  if (phase === 'stream') {
    return [{ path: 'selector', message: 'selects calls, which this action does not decide; remove it' }];
  }
  const askable: readonly unknown[] = askableIn(condition);
  return phasesOf(selector).flatMap((asked, at) =>
    askable.includes(asked)
      ? []
      : [{ path: `selector.phases.${at}`, message: `this condition is only asked in ${askable.join(', ')}` }],
  );
}

const MISFIT: Readonly<Record<Phase, string>> = {
  stream: 'can only be asked about calls, and this action only follows events',
  decision: 'cannot be asked about a call',
};

function fitting(phases: readonly Phase[]): string {
  const fit = ACTIONS.modules.filter((action) => action.phases.some((phase) => phases.includes(phase)));
  return fit.map(({ type }) => type).join(', ');
}

/** Phases as they were sent; what is none of the known ones is refused with the rest of the form. */
function phasesOf(selector: unknown): readonly unknown[] {
  if (typeof selector !== 'object' || selector === null || !('phases' in selector)) return [];
  return Array.isArray(selector.phases) ? selector.phases : [];
}
