import { looksAtAgentTags } from './agent-selector.ts';
import type { DecisionRule } from './decision-rule.ts';

/** True for a rule that needs nothing but the call itself, so that it can be asked anywhere, also without a server. */
export function isStateless({ counts, feeds, selects }: DecisionRule): boolean {
  return !counts && feeds.length === 0 && !looksAtAgentTags(selects);
}
