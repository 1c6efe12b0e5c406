import { globMatches } from '../patterns/glob.ts';
import { foldedName } from '../patterns/names.ts';
import type { Selects } from './decision-rule.ts';
import type { AgentFacts, Unavailable } from './facts.ts';

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
