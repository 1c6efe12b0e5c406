import type { BreakerLimits, BreakerState } from '@agentlens/contracts';
import { CLOSED_BREAKER, overLimit, type StoredBreaker } from '@agentlens/guardrails';
import { type BreakerTransactions, withAsked } from './breaker-transactions.ts';
import type { BreakersRepository, LimitsScope } from './breakers.repository.ts';
import { limitsOf, type TenantLimits } from './limits.ts';

export interface RaisedLimitsDependencies {
  readonly repository: Pick<BreakersRepository, 'openIn'>;
  readonly transactions: BreakerTransactions;
  /** The limits currently in force. */
  readonly limits: (tenantId: string) => TenantLimits | undefined;
}

/** Returns true if a limit opened the breaker. Only an operator closes a breaker that an operator opened. */
export function isPassed(state: BreakerState): boolean {
  return state.kind !== 'closed' && state.reason !== 'operator';
}

/** Closes the breakers that are below their changed limits. Usage stays counted. */
export async function closeBelowLimits(
  { repository, transactions, limits }: RaisedLimitsDependencies,
  tenantId: string,
  changed: LimitsScope,
): Promise<void> {
  const inForce = limits(tenantId);
  for (const { agentId, ...ref } of await repository.openIn(tenantId, changed)) {
    const its = limitsOf(inForce, ref, agentId);
    await transactions.revise<void>({ tenantId, agentId, refs: [ref] }, ([from]) => {
      if (from === undefined || !isBelow(from, its)) return { revisions: [], answer: undefined };
      // A new state object marks a change.
      const to = { ...from.breaker, state: { ...CLOSED_BREAKER.state } };
      return { revisions: [{ ref, from, to }], answer: undefined };
    });
  }
}

/** A breaker whose usage the store has lost stays open. */
function isBelow({ breaker, asked, revision }: StoredBreaker, limits: BreakerLimits | null): boolean {
  if (!isPassed(breaker.state)) return false;
  if (limits === null) return true;
  return revision > 0 && overLimit(withAsked(breaker, asked).usage, limits, { iterations: 1 }) === null;
}
