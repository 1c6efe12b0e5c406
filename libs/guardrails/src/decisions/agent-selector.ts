import { globMatches } from '../patterns/glob.ts';
import { foldedName } from '../patterns/names.ts';
import type { Selects } from './decision-rule.ts';
import type { AgentFacts, Unavailable } from './facts.ts';

/** True if a rule says which agents it is about by slug or tag. */
export function looksAtAgent({ agentSlugsAny, agentTagsAll, agentTagsAny }: Selects): boolean {
  return agentSlugsAny !== undefined || agentTagsAll !== undefined || agentTagsAny !== undefined;
}

/** Whether a rule is about this agent. One that never registered has no slug and no tags. */
export function selectsAgent(selects: Selects, agent: AgentFacts | Unavailable | undefined): boolean | 'unavailable' {
  if (!looksAtAgent(selects)) return true;
  if (typeof agent === 'string') return 'unavailable';
  const { slug, tags = [] } = agent ?? {};
  const has = new Set(tags.map(foldedName));
  const { agentSlugsAny, agentTagsAll, agentTagsAny } = selects;
  if (agentSlugsAny?.some((glob) => slug !== undefined && globMatches(glob, slug)) === false) return false;
  if (agentTagsAll?.every((tag) => has.has(tag)) === false) return false;
  return agentTagsAny?.some((tag) => has.has(tag)) !== false;
}
