import type { DecisionPhase, GuardrailRule } from '@agentlens/contracts';
import type { ConditionModule } from '../catalog/condition-module.ts';
import { foldedName, globMatches } from '../patterns/names.ts';
import type { DecisionRule, Selects } from './decision-rule.ts';
import type { AgentFacts, Unavailable } from './facts.ts';

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

/** Returns true if a selector needs the agent's tags, which have to be fetched. */
export function looksAtAgentTags({ agentTagsAll, agentTagsAny }: Selects): boolean {
  return agentTagsAll !== undefined || agentTagsAny !== undefined;
}

/**
 * Returns whether a selector includes this agent. An agent's slug is its id, registered or not; an unregistered agent
 * has no tags.
 */
export function selectsAgent(
  selects: Selects,
  agentId: string,
  agent: AgentFacts | Unavailable | undefined,
): boolean | 'unavailable' {
  const { agentSlugsAny, agentTagsAll, agentTagsAny } = selects;
  if (agentSlugsAny?.some((glob) => globMatches(glob, agentId)) === false) return false;
  if (!looksAtAgentTags(selects)) return true;
  if (typeof agent === 'string') return 'unavailable';
  const has = new Set(agent?.tags.map(foldedName));
  if (agentTagsAll?.every((tag) => has.has(tag)) === false) return false;
  return agentTagsAny?.some((tag) => has.has(tag)) !== false;
}

/** Returns true if a rule needs only the call itself, so that it can be evaluated without a server. */
export function isStateless({ counts, feeds, selects }: DecisionRule): boolean {
  return !counts && feeds.length === 0 && !looksAtAgentTags(selects);
}
