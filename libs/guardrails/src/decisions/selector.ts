import type { DecisionPhase, GuardrailRule } from '@agentlens/contracts';
import type { ConditionModule } from '../catalog/condition-module.ts';
import { foldedName } from '../patterns/names.ts';
import type { Selects } from './decision-rule.ts';

const BEFORE_TOOLS: readonly DecisionPhase[] = ['tool.before'];

/** The phases a condition can be asked in; those that event series gate, in every one. */
export function askableIn(condition: ConditionModule): readonly DecisionPhase[] {
  return condition.cadence === 'call' ? condition.askedIn : ['tool.before', 'tool.after', 'llm.before'];
}

/** When a rule is asked: as it says, or in the first phase its condition is made for. */
export function phasesOf({ selector }: Pick<GuardrailRule, 'selector'>, condition: ConditionModule) {
  return selector?.phases ?? (condition.cadence === 'call' ? condition.askedIn.slice(0, 1) : BEFORE_TOOLS);
}

/** What a rule selects, folded. `toolNames` is the older name of `selector.tools`. */
export function selectsOf({ selector, toolNames }: Pick<GuardrailRule, 'selector' | 'toolNames'>): Selects {
  const { phases: _, ...selects } = selector ?? {};
  const tools = selects.tools ?? (toolNames?.length ? toolNames : undefined);
  const entries = Object.entries({ ...selects, tools }).filter(([, names]) => names !== undefined);
  return Object.fromEntries(entries.map(([key, names]) => [key, names?.map(foldedName)]));
}
