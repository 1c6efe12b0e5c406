import type { DecisionPhase, GuardrailRule } from '@agentlens/contracts';
import type { ConditionModule } from '../catalog/condition-module.ts';
import { foldedName } from '../patterns/names.ts';
import type { Selects } from './decision-rule.ts';

const BEFORE_TOOLS: readonly DecisionPhase[] = ['tool.before'];

/** Returns the phases a condition supports. Event conditions support every phase. */
export function askableIn(condition: ConditionModule): readonly DecisionPhase[] {
  return condition.cadence === 'call' ? condition.askedIn : ['tool.before', 'tool.after', 'llm.before'];
}

/** Returns the phases of a rule: those of its selector, or the first phase its condition supports. */
export function phasesOf({ selector }: Pick<GuardrailRule, 'selector'>, condition: ConditionModule) {
  return selector?.phases ?? (condition.cadence === 'call' ? condition.askedIn.slice(0, 1) : BEFORE_TOOLS);
}

/** Returns the selector of a rule, case-folded. `toolNames` is the older name of `selector.tools`. */
export function selectsOf({ selector, toolNames }: Pick<GuardrailRule, 'selector' | 'toolNames'>): Selects {
  const { phases: _, ...selects } = selector ?? {};
  const tools = selects.tools ?? (toolNames?.length ? toolNames : undefined);
  const entries = Object.entries({ ...selects, tools }).filter(([, names]) => names !== undefined);
  return Object.fromEntries(entries.map(([key, names]) => [key, names?.map(foldedName)]));
}
