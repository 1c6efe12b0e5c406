import { globMatches } from '../patterns/glob.ts';
import { foldedName } from '../patterns/names.ts';
import type { Selects } from './decision-rule.ts';
import type { AgentFacts, Unavailable } from './facts.ts';

/** True if a rule says which agents it is about by tags, which have to be fetched. */
export function looksAtAgentTags({ agentTagsAll, agentTagsAny }: Selects): boolean {
  return agentTagsAll !== undefined || agentTagsAny !== undefined;
}

/** Whether a rule is about this agent. Its slug is its id, registered or not; one that never registered has no tags. */
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
