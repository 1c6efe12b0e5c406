import type { Breaker } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';

/** Reasons for opening a breaker. */
export const BREAKER_REASONS: Readonly<Record<string, string>> = {
  tokens: 'token limit exceeded',
  iterations: 'model call limit exceeded',
  cost: 'cost limit exceeded',
  failures: 'failures in a row',
  confidence: 'confidence dropped',
  operator: 'by an operator',
};

/** The run, or the tree of runs, whose breaker it is. */
export function runOfBreaker({ scope, scopeId }: Pick<Breaker, 'scope' | 'scopeId'>): string {
  return `${scope === 'tree' ? 'tree of ' : ''}run ${shortId(scopeId)}`;
}
