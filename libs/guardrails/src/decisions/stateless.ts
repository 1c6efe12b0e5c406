import { looksAtAgentTags } from './agent-selector.ts';
import type { DecisionRule } from './decision-rule.ts';

/** Returns true if a rule needs only the call itself, so that it can be evaluated without a server. */
export function isStateless({ counts, feeds, selects }: DecisionRule): boolean {
  return !counts && feeds.length === 0 && !looksAtAgentTags(selects);
}
